// The verdict of a recovery, a row of docs/FORMAT.md each, on segments that are built frame by
// frame.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memory_file_system.h"
#include "record/record_codec.h"
#include "record/segment_name.h"
#include "recovery/plan.h"

namespace durlog {
namespace {

constexpr uint64_t kSegmentBytes = 64 << 10;
constexpr size_t kPayloadBytes = 40;
constexpr uint64_t kRecords = 10;  // in each segment

class RecoveryPlanTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Directory>> directory = disk_.OpenDirectory("memory", true);
    ASSERT_TRUE(directory.ok());
    directory_ = std::move(*directory);
  }
  // A segment of ten records, each of which says that those below `synced_end` are synced.
  void Build(uint64_t first_seq, uint64_t synced_end, uint8_t uuid_byte = 1) {
    SegmentHeader header;
    header.uuid.fill(uuid_byte);
    header.salt = first_seq + 1;
    header.segment_bytes = kSegmentBytes;
    std::vector<uint8_t> bytes(kSegmentBytes);
    EncodeSegmentHeader(header, bytes.data());
    for (uint64_t i = 0; i < kRecords; ++i) {
      const std::string payload(kPayloadBytes, static_cast<char>('a' + i));
      FrameFields fields;
      fields.state = FrameState::kCommitted;
      fields.length = kPayloadBytes;
      fields.seq = first_seq + i;
      fields.unsynced = static_cast<uint32_t>(fields.seq - std::min(fields.seq, synced_end));
      const Bytes from{reinterpret_cast<const uint8_t*>(payload.data()), payload.size()};
      EncodeFrame(fields, from, header.crc_seed(), bytes.data() + OffsetOf(i));
    }
    Result<std::unique_ptr<File>> file =
        directory_->Open(SegmentName(first_seq), OpenMode::kCreateNew);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->WriteAt(0, bytes.data(), bytes.size()).ok());
  }
  static uint64_t OffsetOf(uint64_t record) {
    return kSegmentHeaderBytes + record * FrameBytes(kPayloadBytes);
  }
  // Changes a byte of record `seq`, in the segment `first_seq`.
  void Damage(uint64_t first_seq, uint64_t seq) {
    Overwrite(first_seq, OffsetOf(seq - first_seq) + kFrameHeaderBytes, {0xff});
  }
  void Overwrite(uint64_t first_seq, uint64_t offset, const std::vector<uint8_t>& bytes) {
    Result<std::unique_ptr<File>> file =
        directory_->Open(SegmentName(first_seq), OpenMode::kReadWrite);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->WriteAt(offset, bytes.data(), bytes.size()).ok());
  }
  RecoveryPlan Plan() {
    Result<LogFiles> files = ListLogFiles(*directory_);
    EXPECT_TRUE(files.ok());
    Result<RecoveryPlan> plan = PlanRecovery(*directory_, std::move(*files), OpenMode::kReadWrite,
                                             ScanExtent::kUnsyncedEnd, Evidence::kCache);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return plan.ok() ? std::move(*plan) : RecoveryPlan{};
  }

  MemoryFileSystem disk_;
  std::unique_ptr<Directory> directory_;
};

TEST_F(RecoveryPlanTest, WholeFramesAreClean) {
  Build(0, 10);
  const RecoveryPlan plan = Plan();
  EXPECT_EQ(plan.report.state, RecoveryState::kClean);
  EXPECT_EQ(plan.next_seq, 10u);
  EXPECT_TRUE(plan.cuts.empty());
}

TEST_F(RecoveryPlanTest, AnUnsyncedLastRecordIsATornTail) {
  Build(0, 5);
  Damage(0, 9);
  const RecoveryPlan plan = Plan();
  EXPECT_EQ(plan.report.state, RecoveryState::kTornTail);
  EXPECT_EQ(plan.next_seq, 9u);
  EXPECT_EQ(plan.synced_end, 5u);
  ASSERT_EQ(plan.cuts.size(), 1u);
  EXPECT_EQ(plan.cuts[0].offset, OffsetOf(9));
  EXPECT_FALSE(plan.cuts[0].remove);
}

TEST_F(RecoveryPlanTest, UnsyncedRecordsAfterDamageAreAHole) {
  Build(0, 5);
  Damage(0, 6);
  const RecoveryPlan plan = Plan();
  EXPECT_EQ(plan.report.state, RecoveryState::kHole);
  EXPECT_EQ(plan.next_seq, 6u);
  EXPECT_EQ(plan.report.discarded_records, 3u);
}

TEST_F(RecoveryPlanTest, AHoleTakesLaterSegmentsAndTheNewestFirst) {
  Build(0, 5);
  Build(10, 5);
  Build(20, 5);
  Damage(0, 6);
  const RecoveryPlan plan = Plan();
  EXPECT_EQ(plan.report.state, RecoveryState::kHole);
  EXPECT_EQ(plan.report.discarded_records, 23u);
  ASSERT_EQ(plan.cuts.size(), 3u);
  EXPECT_EQ(plan.cuts[0].name, SegmentName(20));
  EXPECT_TRUE(plan.cuts[0].remove);
  EXPECT_EQ(plan.cuts[1].name, SegmentName(10));
  EXPECT_TRUE(plan.cuts[1].remove);
  EXPECT_EQ(plan.cuts[2].name, SegmentName(0));
  EXPECT_FALSE(plan.cuts[2].remove);
}

TEST_F(RecoveryPlanTest, DamageBelowTheSyncedEndIsCorrupt) {
  Build(0, 5);
  Damage(0, 3);
  const RecoveryPlan plan = Plan();
  EXPECT_EQ(plan.report.state, RecoveryState::kCorrupt);
  EXPECT_EQ(plan.report.lost_first, 3u);
  EXPECT_EQ(plan.report.lost_last, 3u);
  EXPECT_EQ(plan.report.offset, OffsetOf(3));
  EXPECT_EQ(plan.next_seq, 10u) << "above every whole record";
  EXPECT_TRUE(plan.cuts.empty());
}

TEST_F(RecoveryPlanTest, ASegmentThatIsMissingIsCorrupt) {
  Build(0, 0);
  Build(20, 15);
  const RecoveryPlan plan = Plan();
  EXPECT_EQ(plan.report.state, RecoveryState::kCorrupt);
  EXPECT_EQ(plan.report.lost_first, 10u);
  EXPECT_EQ(plan.report.lost_last, 19u);
}

TEST_F(RecoveryPlanTest, SegmentsThatOverlapAreCorrupt) {
  Build(0, 0);
  Build(5, 0);
  EXPECT_EQ(Plan().report.state, RecoveryState::kCorrupt);
}

TEST_F(RecoveryPlanTest, ASegmentOfAnotherLogIsCorrupt) {
  Build(0, 0);
  Build(10, 0);
  Build(20, 0, 2);
  const RecoveryPlan plan = Plan();
  EXPECT_EQ(plan.report.state, RecoveryState::kCorrupt);
  EXPECT_FALSE(plan.identity.undisputed);
  EXPECT_EQ(plan.identity.uuid[0], 1);
  EXPECT_EQ(plan.report.segment, SegmentName(20));
}

TEST_F(RecoveryPlanTest, AHeaderWithoutAWholeCopyIsCorrupt) {
  Build(0, 0);
  Overwrite(0, 0, std::vector<uint8_t>(64, 0xff));
  EXPECT_EQ(Plan().report.state, RecoveryState::kClean) << "the other copy is whole";
  Overwrite(0, 2048, std::vector<uint8_t>(64, 0xff));
  EXPECT_EQ(Plan().report.state, RecoveryState::kCorrupt);
}

TEST_F(RecoveryPlanTest, SyncedSegmentsAreNotRead) {
  Build(0, 10);
  Build(10, 20);
  Damage(0, 3);
  const RecoveryPlan plan = Plan();
  EXPECT_EQ(plan.report.state, RecoveryState::kClean);
  EXPECT_EQ(plan.scanned.size(), 1u);
}

TEST_F(RecoveryPlanTest, AFolderWithoutSegmentsIsNoLog) {
  const Result<RecoveryPlan> plan = PlanRecovery(*directory_, LogFiles{}, OpenMode::kRead,
                                                 ScanExtent::kEverything, Evidence::kCache);
  EXPECT_EQ(plan.status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace durlog
