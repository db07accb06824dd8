#include "retention/retention_plan.h"

#include <gtest/gtest.h>

namespace durlog {
namespace {

constexpr uint64_t kNowMs = 1000000;

// Five segments of 10 records and 100 bytes, the newest record of each 1000 ms younger than that of
// the one before; the last one is appended to.
class RetentionPlanTest : public testing::Test {
 protected:
  RetentionPlanTest() {
    for (uint64_t i = 0; i < 5; ++i) log_.segments.push_back({i * 10, 100});
    log_.next_seq = 50;
    log_.keep = 40;
  }
  RetentionPlan Plan() {
    return PlanRetention(policy_, log_, kNowMs, [this](size_t index, uint64_t time_ms) {
      const uint64_t ahead_ms = index < ahead_ ? 1000000 : 0;
      return index != unreadable_ && kNowMs - 5000 + 1000 * index + ahead_ms < time_ms;
    });
  }
  void Cursor(const char* name, std::optional<uint64_t> position) {
    log_.cursors.push_back({name, position});
  }

  RetentionPolicy policy_;
  RetainedLog log_;
  size_t unreadable_ = SIZE_MAX;
  size_t ahead_ = 0;  // the first segments, which were written under a wrong clock
};

TEST_F(RetentionPlanTest, WithoutALimitEverythingStays) {
  const RetentionPlan plan = Plan();
  EXPECT_EQ(plan.before, 0u);
  EXPECT_EQ(plan.segments, 0u);
  EXPECT_FALSE(plan.seal);
  EXPECT_FALSE(plan.over);
}

TEST_F(RetentionPlanTest, TheOldestSegmentsGoUntilTheRestHasRoom) {
  policy_.max_bytes = 500;
  log_.room_bytes = 150;
  const RetentionPlan plan = Plan();
  EXPECT_EQ(plan.before, 20u);
  EXPECT_EQ(plan.segments, 2u);
  EXPECT_FALSE(plan.over);
}

TEST_F(RetentionPlanTest, WhatIsNotSyncedStaysWhateverItTakes) {
  policy_.max_bytes = 100;
  policy_.max_age_ms = 10;
  log_.keep = 20;
  const RetentionPlan plan = Plan();
  EXPECT_EQ(plan.before, 20u);
  EXPECT_TRUE(plan.over);
  EXPECT_FALSE(plan.seal);
}

TEST_F(RetentionPlanTest, TheNewestSegmentStaysAlthoughItsRecordsAreSynced) {
  policy_.max_bytes = 50;
  log_.keep = 45;
  const RetentionPlan plan = Plan();
  EXPECT_EQ(plan.before, 40u);
  EXPECT_EQ(plan.segments, 4u);
}

TEST_F(RetentionPlanTest, SegmentsWhoseNewestRecordIsTooOldGo) {
  policy_.max_age_ms = 3000;
  EXPECT_EQ(Plan().before, 20u);
  policy_.max_age_ms = 2999;
  EXPECT_EQ(Plan().before, 30u);
}

TEST_F(RetentionPlanTest, SegmentsOfAClockThatWasAheadGoWithTheNextOneThatIsTooOld) {
  policy_.max_age_ms = 2500;
  ahead_ = 2;
  EXPECT_EQ(Plan().before, 30u);
  ahead_ = 3;
  EXPECT_EQ(Plan().before, 0u);
}

TEST_F(RetentionPlanTest, ASegmentWhoseTimeCannotBeReadIsNotTooOld) {
  policy_.max_age_ms = 10;
  unreadable_ = 1;
  EXPECT_EQ(Plan().before, 10u);
}

TEST_F(RetentionPlanTest, TheSlowestCursorHoldsBackWhatIsTooOld) {
  policy_.max_age_ms = 10;
  Cursor("fast", 50);
  Cursor("slow", 29);
  EXPECT_EQ(Plan().before, 20u);
  log_.cursors[1].position = 30;
  EXPECT_EQ(Plan().before, 30u);
  EXPECT_TRUE(Plan().overruns.empty());
  policy_.keep_for_cursors = false;
  EXPECT_EQ(Plan().before, 40u);
}

TEST_F(RetentionPlanTest, RecordsThatEveryCursorHasPassedAreRemovedBeforeASeq) {
  policy_.before = 10;
  policy_.passed_before = 35;
  EXPECT_EQ(Plan().before, 30u);
  EXPECT_EQ(Plan().regardless, 10u);
  Cursor("slow", 29);
  EXPECT_EQ(Plan().before, 20u);
  log_.cursors[0].position = 3;
  EXPECT_EQ(Plan().before, 10u);
}

TEST_F(RetentionPlanTest, ACursorWhosePositionIsNotKnownHoldsEverythingBack) {
  policy_.max_age_ms = 10;
  Cursor("damaged", std::nullopt);
  EXPECT_EQ(Plan().before, 0u);
}

TEST_F(RetentionPlanTest, TheLimitOfBytesNamesEachCursorThatItForcesPast) {
  policy_.max_bytes = 200;
  Cursor("a", 5);
  Cursor("b", 30);
  Cursor("c", 29);
  Cursor("d", std::nullopt);
  const RetentionPlan plan = Plan();
  EXPECT_EQ(plan.before, 30u);
  ASSERT_EQ(plan.overruns.size(), 3u);
  const char* const names[] = {"a", "c", "d"};
  const uint64_t firsts[] = {5, 29, 0};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(plan.overruns[i].cursor, names[i]);
    EXPECT_EQ(plan.overruns[i].first, firsts[i]);
    EXPECT_EQ(plan.overruns[i].last, 29u);
  }
}

TEST_F(RetentionPlanTest, AnOverrunSaysWhatIsLostNowAndNotWhatWentBefore) {
  policy_.max_bytes = 200;
  for (RetainedSegment& segment : log_.segments) segment.first_seq += 100;
  log_.next_seq = 150;
  log_.keep = 140;
  Cursor("left behind", 7);
  const RetentionPlan plan = Plan();
  ASSERT_EQ(plan.overruns.size(), 1u);
  EXPECT_EQ(plan.overruns[0].first, 100u);
  EXPECT_EQ(plan.overruns[0].last, 129u);
}

TEST_F(RetentionPlanTest, WhatIsBeforeASeqGoesPastCursorsInWholeSegments) {
  policy_.before = 29;
  Cursor("slow", 15);
  EXPECT_EQ(Plan().before, 20u);
  ASSERT_EQ(Plan().overruns.size(), 1u);
  EXPECT_EQ(Plan().overruns[0].last, 19u);
  policy_.before = 1000;
  EXPECT_EQ(Plan().before, 40u);
  EXPECT_FALSE(Plan().seal);
}

TEST_F(RetentionPlanTest, AQuietLogsLastSegmentIsSealedOnceAllOfItMayGo) {
  policy_.max_age_ms = 1000;
  EXPECT_FALSE(Plan().seal);
  policy_.max_age_ms = 999;
  EXPECT_TRUE(Plan().seal);
  Cursor("slow", 49);
  EXPECT_EQ(Plan().before, 40u);
  EXPECT_FALSE(Plan().seal);
  log_.cursors[0].position = 50;
  EXPECT_TRUE(Plan().seal);
  log_.next_seq = 40;
  EXPECT_FALSE(Plan().seal) << "it holds no record";
}

}  // namespace
}  // namespace durlog
