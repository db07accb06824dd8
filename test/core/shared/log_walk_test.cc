#include "shared/log_walk.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "observed_file_system.h"
#include "record/segment_name.h"
#include "shared/steps.h"
#include "shared_test_folder.h"

namespace durlog {
namespace {

std::function<void()> when_reserved;

void RunWhenReserved(Step step) {
  if (step == Step::kReserved) when_reserved();
}

class LogWalkTest : public SharedTestFolder {
 protected:
  void TearDown() override { step_hook_for_tests = nullptr; }

  // A member that appends nothing and is only walked.
  std::shared_ptr<Member> MakeMember(FileSystem& files = DefaultFileSystem()) {
    Result<std::unique_ptr<Directory>> directory = files.OpenDirectory(PathOf("log"), false);
    Result<std::unique_ptr<MembersPage>> page = MembersPage::Open(**directory);
    Result<std::unique_ptr<MembersLock>> lock = MembersLock::Open(**directory, {});
    auto member = std::make_shared<Member>(files, std::move(*directory), std::move(*lock),
                                           std::move(*page), 0);
    EXPECT_TRUE(member->page().Join().ok());
    EXPECT_TRUE(member->TakeSlot().ok());
    return member;
  }
};

TEST_F(LogWalkTest, ARecordThatWasPublishedBeforeItsWriterDiedIsNotMadeVoid) {
  std::unique_ptr<SharedLog> owner = OpenMember();
  const std::shared_ptr<Member> member = MakeMember();
  LogPoint begin;
  Result<std::shared_ptr<SharedSegment>> segment = member->SegmentAt(0);
  ASSERT_TRUE(segment.ok()) << segment.status().message();
  begin.segment = *segment;
  LogWalk walk(*member, AtReserved::kStop, begin);
  // The walk sees the reservation; then the owner publishes, is acknowledged and leaves.
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

TEST_F(LogWalkTest, AReservationIsMadeVoidOnceItsWriterIsDead) {
  std::unique_ptr<SharedLog> owner = OpenMember();
  const std::shared_ptr<Member> member = MakeMember();
  LogPoint begin;
  begin.segment = *member->SegmentAt(0);
  uint64_t free = 0;
  const uint64_t offset = kSegmentHeaderBytes;
  ASSERT_TRUE(begin.segment->WordAt(offset).compare_exchange_strong(
      free, ReservedWord(32, 1, owner->slot()), std::memory_order_acq_rel,
      std::memory_order_relaxed));
  LogWalk walk(*member, AtReserved::kStop, begin);
  ASSERT_TRUE(walk.Advance().ok());
  EXPECT_FALSE(walk.VoidIfDead());
  owner.reset();
  EXPECT_TRUE(walk.VoidIfDead());
  ASSERT_TRUE(walk.Advance().ok());
  EXPECT_EQ(walk.stop().kind, StepKind::kFree);
  EXPECT_EQ(walk.point().seq, 1u);
  ExpectClean();
}

class TrimRaceTest : public LogWalkTest {
 protected:
  // Appends until `log` has begun `segments` more segments; returns the first seq of the last one.
  uint64_t AppendSegments(SharedLog& log, size_t segments) {
    const size_t begun = listener_.rotated.size() + segments;
    while (listener_.rotated.size() < begun) Write(log, std::string(20'000, 'x'));
    return listener_.rotated.back();
  }
  // The file system of a member that is overtaken: when it first opens the segment of `first_seq`,
  // `writer` begins two more segments and trims the log.
  std::unique_ptr<FileSystem> OvertakenAt(uint64_t first_seq, SharedLog* writer) {
    return std::make_unique<ObservedFileSystem>(
        [=, name = SegmentName(first_seq)](const ObservedCall& call) {
          if (raced_ || call.call != "open" || call.name != name) return Status::Ok();
          raced_ = true;
          AppendSegments(*writer, 2);
          const std::shared_ptr<SharedTrimJob> trim = writer->BeginTrim(writer->next_seq());
          trim->Await();
          return trim->status();
        });
  }

  bool raced_ = false;
};

TEST_F(TrimRaceTest, AMemberJoinsALogWhileItIsTrimmed) {
  std::unique_ptr<SharedLog> writer = OpenMember();
  const std::unique_ptr<FileSystem> files = OvertakenAt(AppendSegments(*writer, 2), writer.get());
  Result<std::unique_ptr<SharedLog>> joined = SharedLog::Open(*files, PathOf("log"), Small());
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  EXPECT_TRUE(raced_);
  (*joined)->Attach(&inline_, &listener_);
  const uint64_t end = writer->next_seq();
  EXPECT_EQ(Write(**joined, "by the new member"), end);
  EXPECT_EQ(Write(*writer, "by the other member"), end + 1);
  ExpectClean();
}

TEST_F(TrimRaceTest, AWalkEntersALaterSegmentIfTheLogIsTrimmed) {
  std::unique_ptr<SharedLog> writer = OpenMember();
  const std::unique_ptr<FileSystem> files = OvertakenAt(AppendSegments(*writer, 3), writer.get());
  const std::shared_ptr<Member> member = MakeMember(*files);
  LogPoint begin;
  begin.segment = *member->SegmentAt(0);
  LogWalk walk(*member, AtReserved::kStop, begin);
  const Status advanced = walk.Advance();
  EXPECT_TRUE(advanced.ok()) << advanced.message();
  EXPECT_TRUE(raced_);
  EXPECT_EQ(walk.point().seq, writer->next_seq());
}

}  // namespace
}  // namespace durlog
