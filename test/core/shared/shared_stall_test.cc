// A stopped member that is not dead delays another member for at most the stall_ms of that other
// member, which then reports the stopped process. The stopped member runs in a separate thread and
// is held at a step of the protocol.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "held_executor.h"
#include "shared/steps.h"
#include "shared_test_folder.h"

namespace durlog {
namespace {

thread_local Step stops_at = Step::kSteps;
std::atomic<bool> stopped{false};
std::atomic<bool> goes_on{false};

void StopHere(Step step) {
  if (step != stops_at) return;
  stops_at = Step::kSteps;
  stopped = true;
  while (!goes_on) std::this_thread::yield();
}

class SharedStallTest : public SharedTestFolder {
 protected:
  void SetUp() override {
    SharedTestFolder::SetUp();
    stopped = goes_on = false;
    step_hook_for_tests = StopHere;
  }
  void TearDown() override {
    GoOn();
    step_hook_for_tests = nullptr;
    SharedTestFolder::TearDown();
  }

  static LogOptions Impatient() {
    LogOptions options = Small();
    options.stall_ms = 20;
    return options;
  }
  // Returns once another member has reached `step` in its `work`.
  void StopAnother(Step step, const std::function<void(SharedLog&)>& work) {
    slow_ = std::thread([this, step, work] {
      InlineExecutor executor;
      RecordingListener listener;
      if (step == Step::kSlotTaken) stops_at = step;
      Result<std::unique_ptr<SharedLog>> log =
          SharedLog::Open(DefaultFileSystem(), PathOf("log"), Small());
      ASSERT_TRUE(log.ok()) << log.status().message();
      (*log)->Attach(&executor, &listener);
      stops_at = step;
      work(**log);
      stops_at = Step::kSteps;
    });
    while (!stopped) std::this_thread::yield();
  }
  void GoOn() {
    goes_on = true;
    if (slow_.joinable()) slow_.join();
  }
  // Appends until the next segment has to be begun.
  static Status FillUp(SharedLog& log) {
    for (;;) {
      const Result<uint64_t> seq = log.Append(AsBytes(PayloadOf(900)), Level::kMemory);
      if (!seq.ok()) return seq.status();
    }
  }

 private:
  std::thread slow_;
};

TEST_F(SharedStallTest, BeforeItsRecordIsStoredHoldsUpAcknowledgementsAndNothingElse) {
  std::unique_ptr<SharedLog> other = OpenMember(Impatient());
  StopAnother(Step::kReserved, [](SharedLog& log) { EXPECT_EQ(Write(log, PayloadOf(0)), 0u); });
  const Status stalled = other->Write(AsBytes(PayloadOf(1))).TakeStatus();
  EXPECT_EQ(stalled.code(), Code::kStalled);
  EXPECT_EQ(stalled.owner_pid(), DefaultFileSystem().ProcessId());
  EXPECT_EQ(other->next_seq(), 2u);
  EXPECT_EQ(other->ReachedEnd(Level::kMemory), 0u);
  // Other records are reserved and stored; the waiting ones are reported and not lost.
  const Result<uint64_t> third = other->Append(AsBytes(PayloadOf(2)), Level::kMemory);
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(*third, 2u);
  other->Pump();
  other->Harvest();
  EXPECT_EQ(listener_.stalls, 1);
  EXPECT_EQ(listener_.stalled_seq, 0u);
  GoOn();
  ASSERT_TRUE(other->Sync(Level::kSync).ok());
  EXPECT_EQ(other->ReachedEnd(Level::kMemory), 3u);
  ExpectRecords(0, 3);
  ExpectClean();
}

TEST_F(SharedStallTest, WhileItSyncsForAllEndsAnAppendAndAFlushThatWaitByTheCodeForIt) {
  std::unique_ptr<SharedLog> other = OpenMember(Impatient());
  StopAnother(Step::kSyncBegun, [](SharedLog& log) {
    EXPECT_TRUE(log.AppendSync(AsBytes(PayloadOf(0)), Level::kSync).ok());
  });
  other->Look();
  for (const Level level : {Level::kSync, Level::kFull}) {
    const Status stalled =
        other->AppendSync(AsBytes(PayloadOf(other->next_seq())), level).TakeStatus();
    EXPECT_EQ(stalled.code(), Code::kStalled) << stalled.message();
    EXPECT_EQ(stalled.owner_pid(), DefaultFileSystem().ProcessId());
    EXPECT_EQ(other->Sync(level).code(), Code::kStalled);
  }
  EXPECT_FALSE(other->latched());
  EXPECT_EQ(other->ReachedEnd(Level::kSync), 0u);
  // Appends at memory are not delayed.
  EXPECT_EQ(Write(*other, PayloadOf(3)), 3u);
  GoOn();
  EXPECT_TRUE(other->Sync(Level::kFull).ok());
  ExpectRecords(0, 4);
}

TEST_F(SharedStallTest, WhileItSyncsForAllIsToldOfToThoseThatWait) {
  std::unique_ptr<SharedLog> other = OpenMember(Impatient());
  StopAnother(Step::kSyncBegun, [](SharedLog& log) {
    EXPECT_TRUE(log.AppendSync(AsBytes(PayloadOf(0)), Level::kSync).ok());
  });
  ASSERT_TRUE(other->Append(AsBytes(PayloadOf(1)), Level::kSync).ok());
  other->Pump();
  other->Harvest();
  EXPECT_EQ(listener_.stalls, 1);
  EXPECT_EQ(listener_.stalled_pid, DefaultFileSystem().ProcessId());
  EXPECT_EQ(listener_.stalled_seq, 0u);
  GoOn();
  other->Pump();
  other->Harvest();
  EXPECT_EQ(other->ReachedEnd(Level::kSync), 2u);
}

TEST_F(SharedStallTest, WhileItSyncsForAllIsToldOfOnceWhereTwoGroupsWait) {
  LogOptions options = Impatient();
  options.eager_bytes = 100;
  HeldExecutor held;
  std::unique_ptr<SharedLog> other = OpenMember(options);
  other->Attach(&held, &listener_);
  StopAnother(Step::kSyncBegun, [](SharedLog& log) {
    EXPECT_TRUE(log.AppendSync(AsBytes(PayloadOf(0)), Level::kSync).ok());
  });
  for (uint64_t seq = 1; seq < 3; ++seq) {
    ASSERT_TRUE(other->Append(AsBytes(PayloadOf(300)), Level::kSync).ok());
    other->Pump();
  }
  held.RunAll();
  other->Harvest();
  EXPECT_EQ(listener_.stalls, 1);
  GoOn();
  other->Pump();
  held.RunAll();
  other->Harvest();
  EXPECT_EQ(other->ReachedEnd(Level::kSync), 3u);
}

TEST_F(SharedStallTest, LetsTheOthersCloseAndWhatTheyStoredStays) {
  for (const Step step : {Step::kReserved, Step::kSyncBegun}) {
    stopped = goes_on = false;
    listener_ = RecordingListener();
    std::unique_ptr<SharedLog> other = OpenMember(Impatient());
    const uint64_t begin = other->next_seq();
    StopAnother(step, [begin](SharedLog& log) {
      EXPECT_TRUE(log.AppendSync(AsBytes(PayloadOf(begin)), Level::kSync).ok());
    });
    ASSERT_TRUE(other->Append(AsBytes(PayloadOf(begin + 1)), Level::kSync).ok());
    Leave(std::move(other));
    EXPECT_EQ(listener_.closed_unsynced, Code::kStalled);
    EXPECT_TRUE(listener_.failures.empty());
    GoOn();
    ExpectRecords(begin, begin + 2);
    ExpectClean();
  }
}

TEST_F(SharedStallTest, DoesNotConcernTheCloseOfAMemberThatHasAppendedNothingBehindIt) {
  std::unique_ptr<SharedLog> other = OpenMember(Impatient());
  ASSERT_TRUE(other->AppendSync(AsBytes(PayloadOf(0)), Level::kSync).ok());
  StopAnother(Step::kReserved, [](SharedLog& log) { EXPECT_EQ(Write(log, PayloadOf(1)), 1u); });
  other->Look();
  EXPECT_EQ(other->next_seq(), 2u);
  Leave(std::move(other));
  EXPECT_EQ(listener_.stalls, 0);
  EXPECT_EQ(listener_.closed_unsynced, Code::kOk);
}

TEST_F(SharedStallTest, EndsATrimByTheCodeForItAndWhatIsNotSyncedStays) {
  std::unique_ptr<SharedLog> other = OpenMember(Impatient());
  StopAnother(Step::kReserved, [](SharedLog& log) { EXPECT_EQ(Write(log, PayloadOf(0)), 0u); });
  while (listener_.rotated.empty()) {
    ASSERT_TRUE(other->Append(AsBytes(PayloadOf(900)), Level::kMemory).ok());
  }
  const uint64_t next = listener_.rotated.front();
  std::shared_ptr<SharedTrimJob> trim = other->BeginTrim(next);
  trim->Await();
  EXPECT_EQ(trim->status().code(), Code::kStalled);
  EXPECT_EQ(other->first_seq(), 0u);
  GoOn();
  trim = other->BeginTrim(next);
  trim->Await();
  EXPECT_TRUE(trim->status().ok()) << trim->status().message();
  EXPECT_EQ(other->first_seq(), next);
}

TEST_F(SharedStallTest, WhileItNamesTheNextSegmentIsToldOfAndNothingIsWritten) {
  std::unique_ptr<SharedLog> other = OpenMember(Impatient());
  StopAnother(Step::kBeforeRename, [](SharedLog& log) {
    while (goes_on == false) Write(log, PayloadOf(900));
  });
  const uint64_t end = other->ReachedEnd(Level::kMemory);
  EXPECT_EQ(other->Write(AsBytes(PayloadOf(900))).status().code(), Code::kBackpressure);
  other->Harvest();
  EXPECT_GE(listener_.stalls, 1);
  EXPECT_EQ(listener_.stalled_pid, DefaultFileSystem().ProcessId());
  EXPECT_EQ(listener_.stalled_seq, other->next_seq());
  EXPECT_LE(end, other->next_seq());
  GoOn();
  EXPECT_TRUE(other->Write(AsBytes(PayloadOf(900))).ok());
  ExpectClean();
}

TEST_F(SharedStallTest, WhileItMakesTheNextSegmentIsToldOfAndNothingIsWritten) {
  std::unique_ptr<SharedLog> other = OpenMember(Impatient());
  StopAnother(Step::kSpareMade, [](SharedLog& log) {
    while (goes_on == false) Write(log, PayloadOf(900));
  });
  EXPECT_EQ(FillUp(*other).code(), Code::kBackpressure);
  EXPECT_EQ(other->Write(AsBytes(PayloadOf(900))).status().code(), Code::kBackpressure);
  other->Harvest();
  EXPECT_GE(listener_.stalls, 1);
  EXPECT_EQ(listener_.stalled_pid, DefaultFileSystem().ProcessId());
  GoOn();
  EXPECT_TRUE(other->Write(AsBytes(PayloadOf(900))).ok());
  ExpectClean();
}

TEST_F(SharedStallTest, WhileItJoinsKeepsNobodyFromLeavingAndIsNamedToWhoJoins) {
  std::unique_ptr<SharedLog> other = OpenMember(Impatient());
  EXPECT_EQ(Write(*other, PayloadOf(0)), 0u);
  StopAnother(Step::kSlotTaken, [](SharedLog& log) { EXPECT_EQ(Write(log, PayloadOf(1)), 1u); });
  const Status refused = TryOpen(Impatient()).TakeStatus();
  EXPECT_EQ(refused.code(), Code::kLocked);
  EXPECT_EQ(refused.owner_pid(), DefaultFileSystem().ProcessId());
  Leave(std::move(other));
  GoOn();
  ExpectRecords(0, 2);
  ExpectClean();
}

TEST_F(SharedStallTest, WhileItTrimsDelaysOnlyTrimsAndIsReported) {
  std::unique_ptr<SharedLog> other = OpenMember(Impatient());
  StopAnother(Step::kTrimming, [](SharedLog& log) {
    const std::shared_ptr<SharedTrimJob> trim = log.BeginTrim(0);
    trim->Await();
    EXPECT_TRUE(trim->status().ok()) << trim->status().message();
  });
  EXPECT_TRUE(other->AppendSync(AsBytes(PayloadOf(0)), Level::kSync).ok());
  const std::shared_ptr<SharedTrimJob> trim = other->BeginTrim(1);
  trim->Await();
  const Status stalled = other->FinishTrim(*trim);
  EXPECT_EQ(stalled.code(), Code::kStalled);
  EXPECT_EQ(stalled.owner_pid(), DefaultFileSystem().ProcessId());
  EXPECT_EQ(listener_.stalls, 1);
  EXPECT_EQ(listener_.stalled_pid, DefaultFileSystem().ProcessId());
}

}  // namespace
}  // namespace durlog
