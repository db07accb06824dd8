#include "log/sync_backlog.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace durlog {
namespace {

std::shared_ptr<Segment> MakeSegment(uint64_t first_seq) {
  SegmentHeader header;
  header.segment_bytes = first_seq == 0 ? 64 << 10 : 128 << 10;
  return std::make_shared<Segment>(first_seq, header, SegmentFile());
}

class SyncBacklogTest : public testing::Test {
 protected:
  const std::shared_ptr<Segment> first_ = MakeSegment(0);
  const std::shared_ptr<Segment> second_ = MakeSegment(100);
  SyncBacklog backlog_;
};

TEST_F(SyncBacklogTest, RangesOfOneSegmentAreOneTarget) {
  backlog_.MarkDirty(first_, 4096, 5000);
  backlog_.MarkDirty(first_, 5000, 6000);
  backlog_.MarkDirty(second_, 4096, 4200);
  const std::vector<SyncTarget> targets = backlog_.TargetsFor(Level::kSync);
  ASSERT_EQ(targets.size(), 2u);
  EXPECT_EQ(targets[0].begin, 4096u);
  EXPECT_EQ(targets[0].end, 6000u);
  EXPECT_FALSE(targets[0].full);
  EXPECT_EQ(targets[1].segment, second_);
}

TEST_F(SyncBacklogTest, CountsTheBytesOfSegmentsOfDifferentLengths) {
  backlog_.MarkDirty(first_, 4096, 5000);
  backlog_.MarkDirty(second_, 4096, 4200);
  EXPECT_EQ(backlog_.segment_bytes(), uint64_t{192 << 10});
  backlog_.Settle(backlog_.TargetsFor(Level::kSync));
  EXPECT_EQ(backlog_.segment_bytes(), 0u);
}

TEST_F(SyncBacklogTest, ACommitAtMemorySyncsNothing) {
  backlog_.MarkDirty(first_, 4096, 5000);
  backlog_.Seal(first_);
  EXPECT_TRUE(backlog_.TargetsFor(Level::kMemory).empty());
}

TEST_F(SyncBacklogTest, AFullSegmentIsFsyncedAtSyncOnly) {
  backlog_.MarkDirty(first_, 4096, 5000);
  backlog_.Seal(first_);
  EXPECT_FALSE(backlog_.TargetsFor(Level::kAsync)[0].full);
  const std::vector<SyncTarget> targets = backlog_.TargetsFor(Level::kSync);
  ASSERT_EQ(targets.size(), 1u);
  EXPECT_TRUE(targets[0].full);
}

TEST_F(SyncBacklogTest, ASealedDirectSegmentIsFsynced) {
  backlog_.Seal(first_);
  const std::vector<SyncTarget> targets = backlog_.TargetsFor(Level::kSync);
  ASSERT_EQ(targets.size(), 1u);
  EXPECT_TRUE(targets[0].full);
  EXPECT_EQ(targets[0].segment, first_);
}

TEST_F(SyncBacklogTest, WhatWasWrittenMeanwhileStays) {
  backlog_.MarkDirty(first_, 4096, 5000);
  const std::vector<SyncTarget> targets = backlog_.TargetsFor(Level::kSync);
  backlog_.MarkDirty(first_, 5000, 6000);
  backlog_.Seal(first_);
  backlog_.Settle(targets);
  const std::vector<SyncTarget> rest = backlog_.TargetsFor(Level::kSync);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].begin, 5000u);
  EXPECT_TRUE(rest[0].full);
  backlog_.Settle(rest);
  EXPECT_TRUE(backlog_.TargetsFor(Level::kSync).empty());
}

TEST_F(SyncBacklogTest, WhatWasTakenBackIsForgotten) {
  backlog_.MarkDirty(first_, 4096, 5000);
  backlog_.Forget(first_.get(), 5000);
  EXPECT_EQ(backlog_.TargetsFor(Level::kSync).size(), 1u);
  backlog_.Forget(first_.get(), 4096);
  EXPECT_TRUE(backlog_.TargetsFor(Level::kSync).empty());
}

TEST_F(SyncBacklogTest, AnAppendMakesASegmentNotFull) {
  backlog_.Seal(first_);
  backlog_.Seal(second_);
  backlog_.Unseal(100);
  const std::vector<SyncTarget> targets = backlog_.TargetsFor(Level::kSync);
  ASSERT_EQ(targets.size(), 1u);
  EXPECT_EQ(targets[0].segment, first_);
}

TEST_F(SyncBacklogTest, TheOldestSegmentIsDirtyOrFull) {
  EXPECT_EQ(backlog_.OldestSegment(300), 300u);
  backlog_.MarkDirty(second_, 4096, 5000);
  EXPECT_EQ(backlog_.OldestSegment(300), 100u);
  backlog_.Seal(first_);
  EXPECT_EQ(backlog_.OldestSegment(300), 0u);
  backlog_.Clear();
  EXPECT_EQ(backlog_.OldestSegment(300), 300u);
}

}  // namespace
}  // namespace durlog
