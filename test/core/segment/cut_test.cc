#include "segment/cut.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "crafted_log.h"
#include "observed_file_system.h"
#include "segment/scanner.h"

namespace durlog {
namespace {

constexpr uint64_t kCut = 3;  // the first record that goes

class CutTest : public CraftedLogTest {
 protected:
  // The segment's file. Its content is saved before each change and each sync.
  std::unique_ptr<File> Watched() {
    const Observer observer = [this](const ObservedCall& call) {
      calls_.push_back(call.call);
      images_.push_back(Image(0));
      return call.call == refused_ ? refusal_ : Status::Ok();
    };
    Result<std::unique_ptr<File>> file = directory_->Open(SegmentName(0), OpenMode::kReadWrite);
    EXPECT_TRUE(file.ok());
    return std::make_unique<ObservedFile>(std::move(*file), SegmentName(0), false, observer);
  }
  static SegmentScan Scan(const MemoryBytes& image) {
    MemoryFile file(std::make_shared<MemoryBytes>(image));
    const SegmentHeader header = HeaderOf(0);
    Result<SegmentScan> scan =
        ScanSegment(file, ScanContext{0, header.crc_seed(), header.segment_bytes, false});
    EXPECT_TRUE(scan.ok());
    return scan.ok() ? *scan : SegmentScan{};
  }

  std::vector<std::string> calls_;
  std::vector<MemoryBytes> images_;
  std::string refused_;
  Status refusal_;
};

TEST_F(CutTest, NothingOfTheCutRecordsIsLeft) {
  struct Row {
    uint64_t file_bytes;
    uint64_t bytes_after;
  };
  const Row rows[] = {
      {kSegmentBytes, kSegmentBytes},        // preallocated
      {OffsetOf(kRecords), OffsetOf(kCut)},  // grows as it is written
      {OffsetOf(kCut) + 8, OffsetOf(kCut)},
      {OffsetOf(kCut), OffsetOf(kCut)},
  };
  for (const auto cut : {CutSegment, CutSyncedRecords}) {
    for (const Row& row : rows) {
      SCOPED_TRACE(row.file_bytes);
      Build(0, 0);
      Image(0).resize(row.file_bytes);
      const std::unique_ptr<File> file = Watched();
      ASSERT_TRUE(cut(*file, OffsetOf(kCut), kSegmentBytes).ok());
      MemoryBytes expected = Image(0);
      EXPECT_EQ(expected.size(), row.bytes_after);
      EXPECT_EQ(Scan(expected).records, kCut);
      EXPECT_FALSE(Scan(expected).damaged);
      EXPECT_EQ(Scan(expected).records_after, 0u);
      EXPECT_EQ(calls_.back(), "sync-full");
    }
  }
}

TEST_F(CutTest, NoWholeRecordIsBehindACutOne) {
  Build(0, kRecords);
  const std::unique_ptr<File> file = Watched();
  ASSERT_TRUE(CutSyncedRecords(*file, OffsetOf(kCut), kSegmentBytes).ok());
  ASSERT_GT(images_.size(), 4u);
  for (const MemoryBytes& image : images_) EXPECT_EQ(Scan(image).records_after, 0u);
}

TEST_F(CutTest, EachStepIsSyncedBeforeTheNext) {
  Build(0, kRecords);
  const std::unique_ptr<File> file = Watched();
  ASSERT_TRUE(CutSyncedRecords(*file, OffsetOf(kCut), kSegmentBytes).ok());
  std::string changed;
  for (const std::string& call : calls_) {
    if (call == "sync-data" || call == "sync-full") changed.clear();
    if (call != "write" && call != "truncate") continue;
    EXPECT_EQ(changed, "") << "in front of a " << call;
    changed = call;
  }
  EXPECT_EQ(changed, "");
}

TEST_F(CutTest, ACutNeedsNoNewBlocks) {
  struct Row {
    Code refusal;
    Code result;
    uint64_t bytes_after;
  };
  const Row rows[] = {{Code::kNoSpace, Code::kOk, OffsetOf(kCut)},
                      {Code::kUnsupported, Code::kOk, OffsetOf(kCut)},
                      {Code::kIo, Code::kIo, OffsetOf(kCut)}};
  for (const Row& row : rows) {
    Build(0, 0);
    refused_ = "allocate";
    refusal_ = Status::Error(row.refusal, "refused");
    const std::unique_ptr<File> file = Watched();
    EXPECT_EQ(CutSegment(*file, OffsetOf(kCut), kSegmentBytes).code(), row.result);
    EXPECT_EQ(Image(0).size(), row.bytes_after);
  }
}

}  // namespace
}  // namespace durlog
