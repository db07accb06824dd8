// The verdict of a recovery, a row of docs/FORMAT.md each.
#include "recovery/plan.h"

#include <string>
#include <vector>

#include "crafted_log.h"

namespace durlog {
namespace {

using RecoveryPlanTest = CraftedLogTest;

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

TEST_F(RecoveryPlanTest, AHoleTakesLaterSegmentsNewestFirst) {
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
  Overwrite(0, 0, MemoryBytes(64, 0xff));
  EXPECT_EQ(Plan().report.state, RecoveryState::kClean) << "the other copy is whole";
  Overwrite(0, 2048, MemoryBytes(64, 0xff));
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

TEST_F(RecoveryPlanTest, DamageBelowWhatIsAcknowledgedIsCorrupt) {
  Build(0, 5);
  Damage(0, 9);
  Result<LogFiles> files = ListLogFiles(*directory_);
  ASSERT_TRUE(files.ok());
  for (const uint64_t acknowledged : {uint64_t{9}, uint64_t{10}}) {
    const Result<RecoveryPlan> plan =
        PlanRecovery(*directory_, *files, OpenMode::kRead, ScanExtent::kEverything,
                     Evidence::kCache, acknowledged);
    ASSERT_TRUE(plan.ok());
    const bool known = acknowledged == 10;
    EXPECT_EQ(plan->report.state, known ? RecoveryState::kCorrupt : RecoveryState::kTornTail);
    EXPECT_EQ(plan->synced_end, 5u);
    if (!known) continue;
    EXPECT_EQ(plan->report.lost_first, 9u);
    EXPECT_EQ(plan->report.lost_last, 9u);
    EXPECT_EQ(plan->next_seq, 10u);
  }
}

TEST_F(RecoveryPlanTest, TheReportSaysFromWhichSeqOnItHasRead) {
  Build(0, 10);
  Build(10, 20);
  Build(20, 25);
  EXPECT_EQ(Plan().report.scanned_from, 20u);
  Build(20, 15);
  EXPECT_EQ(Plan().report.scanned_from, 10u);
}

}  // namespace
}  // namespace durlog
