#include "segment/cut.h"

#include <functional>
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
  SegmentFile Watched() {
    const Observer observer = [this](const ObservedCall& call) {
      calls_.push_back(call.call);
      images_.push_back(Image(0));
      if (call.call != refused_) return Status::Ok();
      if (on_refusal_) on_refusal_();
      return refusal_;
    };
    Result<std::unique_ptr<File>> file = directory_->Open(SegmentName(0), OpenMode::kReadWrite);
    EXPECT_TRUE(file.ok());
    return SegmentFile(
        std::make_unique<ObservedFile>(std::move(*file), SegmentName(0), false, observer),
        kSegmentBytes);
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
  std::function<void()> on_refusal_;
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
  const auto cut_segment = [](SegmentFile& file, uint64_t offset) { return file.Cut(offset); };
  const auto cut_synced = [](SegmentFile& file, uint64_t offset) {
    return CutSyncedRecords(file, offset);
  };
  using CutFile = std::function<Status(SegmentFile&, uint64_t)>;
  for (const CutFile& cut : {CutFile(cut_segment), CutFile(cut_synced)}) {
    for (const Row& row : rows) {
      SCOPED_TRACE(row.file_bytes);
      Build(0, 0);
      Image(0).resize(row.file_bytes);
      SegmentFile file = Watched();
      ASSERT_TRUE(cut(file, OffsetOf(kCut)).ok());
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
  SegmentFile file = Watched();
  ASSERT_TRUE(CutSyncedRecords(file, OffsetOf(kCut)).ok());
  ASSERT_GT(images_.size(), 4u);
  for (const MemoryBytes& image : images_) EXPECT_EQ(Scan(image).records_after, 0u);
}

TEST_F(CutTest, EachStepIsSyncedBeforeTheNext) {
  Build(0, kRecords);
  SegmentFile file = Watched();
  ASSERT_TRUE(CutSyncedRecords(file, OffsetOf(kCut)).ok());
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
    SegmentFile file = Watched();
    EXPECT_EQ(file.Cut(OffsetOf(kCut)).code(), row.result);
    EXPECT_FALSE(file.is_allocated());
    EXPECT_EQ(Image(0).size(), row.bytes_after);
  }
}

TEST_F(CutTest, EachCutLowersWhatIsKnownOfTheBlocks) {
  Build(0, 0);
  SegmentFile file = Watched();
  EXPECT_FALSE(file.is_allocated());
  ASSERT_TRUE(file.Allocate().ok());
  EXPECT_TRUE(file.is_allocated());
  file.NoteWritten(kSegmentBytes);
  ASSERT_TRUE(file.Cut(OffsetOf(kCut)).ok());
  EXPECT_TRUE(file.is_allocated()) << "the blocks were allocated again";
  EXPECT_EQ(file.written_end(), OffsetOf(kCut));
  refused_ = "allocate";
  refusal_ = Status::Error(Code::kNoSpace, "refused");
  ASSERT_TRUE(CutSyncedRecords(file, OffsetOf(2)).ok());
  EXPECT_FALSE(file.is_allocated());
  EXPECT_EQ(file.written_end(), OffsetOf(2));
  EXPECT_EQ(file.Allocate().code(), Code::kNoSpace);
  EXPECT_EQ(Image(0).size(), OffsetOf(2)) << "a failed allocation changes nothing";
  refused_.clear();
  ASSERT_TRUE(file.Allocate().ok());
  EXPECT_TRUE(file.is_allocated());
  EXPECT_EQ(Image(0).size(), kSegmentBytes);
}

// As on ext4, whose call extends the file step by step.
TEST_F(CutTest, AnAllocationThatFailsHalfWayLeavesTheFileAsItWas) {
  Build(0, 0);
  Image(0).resize(OffsetOf(kCut));
  refused_ = "allocate";
  refusal_ = Status::Error(Code::kNoSpace, "refused");
  on_refusal_ = [this] { Image(0).resize(kSegmentBytes / 2); };
  SegmentFile file = Watched();
  EXPECT_EQ(file.Allocate().code(), Code::kNoSpace);
  EXPECT_EQ(Image(0).size(), OffsetOf(kCut));
  EXPECT_FALSE(file.is_allocated());
}

}  // namespace
}  // namespace durlog
