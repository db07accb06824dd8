#include "shared/committed_walk.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "shared/steps.h"
#include "shared_test_folder.h"

namespace durlog {
namespace {

std::function<void()> when_reserved;

void RunWhenReserved(Step step) {
  if (step == Step::kReserved) when_reserved();
}

class CommittedWalkTest : public SharedTestFolder {
 protected:
  void TearDown() override { step_hook_for_tests = nullptr; }

  // A member that appends nothing: only its walk is of interest.
  std::shared_ptr<Member> MakeMember() {
    Result<std::unique_ptr<Directory>> directory =
        DefaultFileSystem().OpenDirectory(PathOf("log"), false);
    Result<std::unique_ptr<MembersPage>> page = MembersPage::Open(**directory);
    Result<std::unique_ptr<File>> lock = (*directory)->Open("lock", OpenMode::kReadWrite);
    auto member = std::make_shared<Member>(DefaultFileSystem(), std::move(*directory),
                                           std::move(*lock), std::move(*page), 0);
    EXPECT_TRUE(member->page().Join().ok());
    EXPECT_TRUE(member->TakeSlot().ok());
    return member;
  }
};

TEST_F(CommittedWalkTest, ARecordThatWasPublishedBeforeItsWriterDiedIsNotMadeVoid) {
  std::unique_ptr<SharedLog> owner = OpenMember();
  const std::shared_ptr<Member> member = MakeMember();
  LogPoint begin;
  Result<std::shared_ptr<SharedSegment>> segment = member->SegmentAt(0);
  ASSERT_TRUE(segment.ok()) << segment.status().message();
  begin.segment = *segment;
  CommittedWalk walk(*member, begin);
  // The walk sees the reservation; then the owner publishes, is acknowledged and is gone.
  when_reserved = [&walk] { EXPECT_TRUE(walk.Advance().ok()); };
  step_hook_for_tests = RunWhenReserved;
  EXPECT_EQ(Write(*owner, PayloadOf(0)), 0u);
  EXPECT_EQ(walk.stop().kind, StepKind::kReserved);
  owner.reset();
  EXPECT_TRUE(walk.VoidIfDead());
  ASSERT_TRUE(walk.Advance().ok());
  EXPECT_EQ(walk.point().seq, 1u);
  ExpectRecords(0, 1);
  ExpectClean();
}

TEST_F(CommittedWalkTest, AReservationIsMadeVoidOnceItsWriterIsDead) {
  std::unique_ptr<SharedLog> owner = OpenMember();
  const std::shared_ptr<Member> member = MakeMember();
  LogPoint begin;
  begin.segment = *member->SegmentAt(0);
  uint64_t free = 0;
  const uint64_t offset = kSegmentHeaderBytes + kFrameHeaderBytes;
  ASSERT_TRUE(begin.segment->WordAt(offset).compare_exchange_strong(
      free, ReservedWord(32, 1, owner->slot()), std::memory_order_acq_rel,
      std::memory_order_relaxed));
  CommittedWalk walk(*member, begin);
  ASSERT_TRUE(walk.Advance().ok());
  EXPECT_FALSE(walk.VoidIfDead());
  owner.reset();
  EXPECT_TRUE(walk.VoidIfDead());
  ASSERT_TRUE(walk.Advance().ok());
  EXPECT_EQ(walk.stop().kind, StepKind::kFree);
  EXPECT_EQ(walk.point().seq, 1u);
  ExpectClean();
}

}  // namespace
}  // namespace durlog
