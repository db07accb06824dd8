#include "log/segment_chain.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "memory_file_system.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

constexpr uint64_t kSegmentBytes = 64 << 10;

class SegmentChainTest : public testing::Test {
 protected:
  SegmentChainTest()
      : options_(SmallSegments()), capabilities_(InPlace()), policy_(options_, capabilities_) {}
  void SetUp() override {
    Result<std::unique_ptr<Directory>> directory = disk_.OpenDirectory("memory", true);
    ASSERT_TRUE(directory.ok());
    directory_ = std::move(*directory);
    chain_ = std::make_unique<SegmentChain>(disk_, *directory_, options_, capabilities_, policy_);
  }
  static LogOptions SmallSegments() {
    LogOptions options;
    options.segment_bytes = kSegmentBytes;
    return options;
  }
  // Spares have all their blocks, so that a trimmed segment is as long as a new one.
  static Capabilities InPlace() {
    Capabilities capabilities;
    capabilities.overwrites_in_place = true;
    return capabilities;
  }
  // Makes the next segment and gives it its name.
  void Grow(uint64_t first_seq) {
    Segment segment(first_seq, chain_->MakeSpare(LogUuid{}, options_.segment_bytes, 0, 0));
    ASSERT_TRUE(segment.Activate(*directory_).ok());
    chain_->Add(segment);
  }
  std::vector<std::string> Names() {
    const Result<std::vector<FileEntry>> entries = directory_->List();
    std::vector<std::string> names;
    if (!entries.ok()) return names;
    for (const FileEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }
  // The first seqs of what a trim below `seq` would remove.
  std::vector<uint64_t> Below(uint64_t seq, uint64_t keep) {
    std::vector<uint64_t> first_seqs;
    for (const TrimJob::Item& item : chain_->ItemsBelow(seq, keep, false)) {
      first_seqs.push_back(item.first_seq);
    }
    return first_seqs;
  }

  MemoryFileSystem disk_;
  const LogOptions options_;
  const Capabilities capabilities_;
  const WritePolicy policy_;
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<SegmentChain> chain_;
};

TEST_F(SegmentChainTest, AnEmptySegmentIsReplaced) {
  for (const uint64_t first_seq : {0u, 10u, 10u}) {
    chain_->Add(Segment(first_seq, SegmentHeader{}, SegmentFile()));
  }
  EXPECT_EQ(chain_->first_seqs(), (std::vector<uint64_t>{0, 10}));
}

TEST_F(SegmentChainTest, ASpareIsAwaitedOnceItWasNeeded) {
  const std::shared_ptr<SpareJob> job =
      chain_->RequestSpare(LogUuid{}, options_.segment_bytes, 0, 0);
  EXPECT_NE(chain_->spare(), nullptr);
  EXPECT_FALSE(chain_->AwaitSpare());
  EXPECT_EQ(chain_->CheckSpare().code(), Code::kBackpressure);
  EXPECT_TRUE(chain_->AwaitSpare());
  EXPECT_TRUE(job->done());
  EXPECT_TRUE(chain_->CheckSpare().ok());
  EXPECT_EQ(chain_->TakeSpare(), job);
  EXPECT_EQ(chain_->spare(), nullptr);
  RemoveSpare(*directory_, *job);
}

TEST_F(SegmentChainTest, ASpareThatNobodyTakesIsRemoved) {
  chain_->RequestSpare(LogUuid{}, options_.segment_bytes, 0, 0)->RunOnce();
  EXPECT_EQ(Names().size(), 1u);
  chain_.reset();
  EXPECT_TRUE(Names().empty());
}

TEST_F(SegmentChainTest, ASpareOfAnotherTimeIsDropped) {
  const std::shared_ptr<SpareJob> job =
      chain_->RequestSpare(LogUuid{}, options_.segment_bytes, 12345, 0);
  EXPECT_EQ(job->header().base_time_ms, 12345u);
  chain_->DropSpare();
  EXPECT_EQ(chain_->spare(), nullptr);
  EXPECT_TRUE(Names().empty());
}

TEST_F(SegmentChainTest, TrimsTakeWholeSegmentsNeverTheLast) {
  chain_->Assign({0, 10, 20, 30});
  EXPECT_EQ(Below(9, 30), (std::vector<uint64_t>{}));
  EXPECT_EQ(Below(10, 30), (std::vector<uint64_t>{0}));
  EXPECT_EQ(Below(29, 30), (std::vector<uint64_t>{0, 10}));
  EXPECT_EQ(Below(1000, 30), (std::vector<uint64_t>{0, 10, 20}));
  EXPECT_EQ(Below(1000, 10), (std::vector<uint64_t>{0}));
}

TEST_F(SegmentChainTest, ATrimmedSegmentBecomesASpareAgain) {
  for (const uint64_t first_seq : {0u, 10u, 20u, 30u}) Grow(first_seq);
  std::vector<TrimJob::Item> items = chain_->ItemsBelow(1000, 30, true);
  ASSERT_EQ(items.size(), 3u);
  EXPECT_NE(items[0].recycled_name, "");
  EXPECT_NE(items[1].recycled_name, "");
  EXPECT_EQ(items[2].recycled_name, "") << "two are enough";
  TrimJob job(*directory_, {}, std::move(items), kSegmentBytes);
  job.RunOnce();
  ASSERT_TRUE(job.status().ok()) << job.status().message();
  chain_->FinishTrim(job);
  EXPECT_EQ(chain_->first_seqs(), (std::vector<uint64_t>{30}));
  EXPECT_TRUE(chain_->ItemsBelow(1000, 30, true).empty());
  const std::shared_ptr<SpareJob> spare =
      chain_->RequestSpare(LogUuid{}, options_.segment_bytes, 0, 0);
  EXPECT_TRUE(spare->header().recycled);
  LogStats stats;
  chain_->Report(&stats);
  EXPECT_EQ(stats.recycled, 1u);
}

}  // namespace
}  // namespace durlog
