// A process joins a session only while another member of it is alive, whatever happens between two
// of its system calls.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "observed_file_system.h"
#include "recovery/shared_session.h"
#include "shared_test_folder.h"

namespace durlog {
namespace {

constexpr uint64_t kSessionOffset = kSessionWord * sizeof(uint64_t);
constexpr size_t kMostCalls = 500;

bool EntersBesideAnother(const ObservedCall& call) {
  return call.call == "lock-shared" && call.name == "lock" && call.offset == 0;
}

class SessionsTest : public SharedTestFolder {
 protected:
  std::unique_ptr<Log> OpenAlone() {
    Result<std::unique_ptr<Log>> log = Log::Open(DefaultFileSystem(), PathOf("log"), Small());
    EXPECT_TRUE(log.ok()) << log.status().message();
    if (log.ok()) (*log)->Attach(&inline_, &listener_);
    return log.ok() ? std::move(*log) : nullptr;
  }
  // Opens the log in shared mode, and calls `meanwhile` before each of its system calls.
  Result<std::unique_ptr<SharedLog>> OpenWhile(Observer meanwhile) {
    observed_ = std::make_unique<ObservedFileSystem>(std::move(meanwhile));
    Result<std::unique_ptr<SharedLog>> log = SharedLog::Open(*observed_, PathOf("log"), Small());
    if (log.ok()) (*log)->Attach(&inline_, &listener_);
    return log;
  }
  std::unique_ptr<File> OpenFile(const char* name) {
    return std::move(*OpenFolder()->Open(name, OpenMode::kReadWrite));
  }
  uint64_t SessionInPage() {
    uint64_t session = 0;
    EXPECT_TRUE(OpenFile(kSharedName)->ReadAt(kSessionOffset, &session, sizeof session).ok());
    return session;
  }
  // As if the members of that session had been killed.
  void PutSessionInPage(uint64_t session) {
    EXPECT_TRUE(OpenFile(kSharedName)->WriteAt(kSessionOffset, &session, sizeof session).ok());
  }
  static uint64_t AppendSync(LogWriter& log, const std::string& payload) {
    const Result<uint64_t> seq =
        log.AppendSync(AsBytes(payload), Level::kSync, LogWriter::kClockTime);
    EXPECT_TRUE(seq.ok()) << seq.status().message();
    return seq.ok() ? *seq : UINT64_MAX;
  }

  std::unique_ptr<ObservedFileSystem> observed_;
};

// The writer alone opens the log and closes it again between two calls of the shared open, at every
// place where both is possible.
TEST_F(SessionsTest, AnOpenThatIsStoppedAtAnyCallNeverJoinsASessionThatHasEnded) {
  size_t closes_before = 0;
  for (size_t stop = 0; stop < kMostCalls; ++stop) {
    std::unique_ptr<SharedLog> earlier = OpenMember();
    const uint64_t session = SessionInPage();
    AppendSync(*earlier, PayloadOf(0));
    Leave(std::move(earlier));
    std::unique_ptr<Log> alone = OpenAlone();
    AppendSync(*alone, PayloadOf(1));
    PutSessionInPage(session);
    size_t calls = 0;
    Result<std::unique_ptr<SharedLog>> log = OpenWhile([&](const ObservedCall&) {
      if (calls++ == stop) alone.reset();
      return Status::Ok();
    });
    const bool stopped = alone == nullptr;
    alone.reset();
    if (!log.ok()) {
      EXPECT_EQ(log.status().code(), Code::kLocked) << log.status().message();
      if (!stopped) break;
      continue;
    }
    ++closes_before;
    EXPECT_NE(SessionInPage(), session) << "stopped before call " << stop;
    const uint64_t end = AppendSync(**log, PayloadOf(2)) + 1;
    EXPECT_EQ((*log)->ReachedEnd(Level::kSync), end);
    Leave(std::move(*log));
    EXPECT_EQ(ReadAll().size(), end);
  }
  EXPECT_GT(closes_before, 0u);
}

TEST_F(SessionsTest, AMemberThatLeavesWhileAnotherProcessJoinsIsNoProofOfTheSession) {
  std::unique_ptr<SharedLog> last = OpenMember();
  const uint64_t session = SessionInPage();
  AppendSync(*last, PayloadOf(0));
  Result<std::unique_ptr<SharedLog>> log = OpenWhile([&](const ObservedCall& call) {
    // Without PrepareClose(), a member leaves as one that has latched.
    if (EntersBesideAnother(call)) last.reset();
    return Status::Ok();
  });
  ASSERT_TRUE(log.ok()) << log.status().message();
  EXPECT_NE(SessionInPage(), session);
  EXPECT_EQ(AppendSync(**log, PayloadOf(1)), 1u);
}

TEST_F(SessionsTest, AMemberThatDiesOnceItWasSeenHandsTheSessionOver) {
  std::unique_ptr<SharedLog> last = OpenMember();
  const uint64_t session = SessionInPage();
  AppendSync(*last, PayloadOf(0));
  Result<std::unique_ptr<SharedLog>> log = OpenWhile([&](const ObservedCall& call) {
    if (call.call == "map" && call.name == kSharedName) last.reset();
    return Status::Ok();
  });
  ASSERT_TRUE(log.ok()) << log.status().message();
  EXPECT_EQ(SessionInPage(), session);
  EXPECT_EQ(AppendSync(**log, PayloadOf(1)), 1u);
  Leave(std::move(*log));
  EXPECT_EQ(ReadAll().size(), 2u);
  ExpectClean();
}

// The system releases the locks of a process that dies one after the other.
TEST_F(SessionsTest, AProcessThatDiesBeforeItHasJoinedIsNoProofOfTheSession) {
  std::unique_ptr<SharedLog> earlier = OpenMember();
  const uint64_t session = SessionInPage();
  Leave(std::move(earlier));
  PutSessionInPage(session);
  const std::unique_ptr<File> dying = OpenFile("lock");
  ASSERT_TRUE(*dying->TryLockRange(LockKind::kShared, 0, 1));
  int entered = 0;
  const Result<std::unique_ptr<SharedLog>> log = OpenWhile([&](const ObservedCall& call) {
    if (EntersBesideAnother(call) && ++entered == 3) {
      EXPECT_TRUE(dying->UnlockRange(0, 0).ok());
    }
    return Status::Ok();
  });
  ASSERT_TRUE(log.ok()) << log.status().message();
  EXPECT_NE(SessionInPage(), session);
}

TEST_F(SessionsTest, TheFirstMemberIsAMemberToOthersAndKeepsWritersAloneOut) {
  const std::unique_ptr<SharedLog> first = OpenMember();
  const std::unique_ptr<File> lock = OpenFile("lock");
  const uint64_t session = SessionInPage();
  ASSERT_NE(session, 0u);
  for (const uint64_t byte : {uint64_t{0}, session}) {
    EXPECT_EQ(*lock->RangeLockOfOthers(byte, 1), LockKind::kShared);
  }
  EXPECT_EQ(*lock->RangeLockOfOthers(1, session - 1), std::nullopt);
  EXPECT_EQ(*lock->RangeLockOfOthers(session + 1, 0), std::nullopt);
}

TEST_F(SessionsTest, TheLastLeaveAndAnOpenAloneEndTheSession) {
  Leave(OpenMember());
  EXPECT_EQ(SessionInPage(), 0u);
  // As if it had died.
  OpenMember().reset();
  EXPECT_EQ(SessionInPage(), 0u);
  PutSessionInPage(2);
  OpenAlone().reset();
  EXPECT_EQ(SessionInPage(), 0u);
}

TEST_F(SessionsTest, TwoLatchedMembersThatLeaveAtTheSameTimeEndTheSession) {
  std::unique_ptr<SharedLog> first = OpenMember();
  std::unique_ptr<SharedLog> second;
  bool leaves = false;
  Result<std::unique_ptr<SharedLog>> other = OpenWhile([&](const ObservedCall& call) {
    if (leaves && call.call == "unlocked" && call.name == "lock") second.reset();
    return Status::Ok();
  });
  second = OpenMember();
  first.reset();
  leaves = true;
  other->reset();
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(SessionInPage(), 0u);
}

TEST_F(SessionsTest, APageThatADeadSessionHasLatchedRefusesNoNewOne) {
  ObservedFileSystem failing([](const ObservedCall& call) {
    return call.call == "sync-map" ? Status::System("msync", EIO, call.name) : Status::Ok();
  });
  Result<std::unique_ptr<SharedLog>> latched = SharedLog::Open(failing, PathOf("log"), Small());
  ASSERT_TRUE(latched.ok()) << latched.status().message();
  (*latched)->Attach(&inline_, &listener_);
  EXPECT_FALSE((*latched)->AppendSync(AsBytes(PayloadOf(0)), Level::kSync).ok());
  EXPECT_EQ(TryOpen().status().code(), Code::kLatched);
  const Result<std::unique_ptr<SharedLog>> log = OpenWhile([&](const ObservedCall& call) {
    if (EntersBesideAnother(call)) latched->reset();
    return Status::Ok();
  });
  ASSERT_TRUE(log.ok()) << log.status().message();
  EXPECT_EQ((*log)->next_seq(), AppendSync(**log, PayloadOf(1)) + 1);
}

TEST_F(SessionsTest, AWriterAloneIsRefusedWhileAProcessEnters) {
  Leave(OpenMember());
  // Held by a process that was stopped before it became a member.
  const std::unique_ptr<File> stopped = OpenFile("lock");
  ASSERT_TRUE(*stopped->TryLockRange(LockKind::kShared, 0, 1));
  EXPECT_EQ(Log::Open(DefaultFileSystem(), PathOf("log"), Small()).status().code(), Code::kLocked);
}

}  // namespace
}  // namespace durlog
