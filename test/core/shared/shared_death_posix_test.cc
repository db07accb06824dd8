// The death of a member at any step loses no record of another member. The member is a separate
// process, which kills itself with SIGKILL at the step that the test chooses.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "recovery/log_files.h"
#include "shared/steps.h"
#include "shared_test_folder.h"

namespace durlog {
namespace {

constexpr int kFirst = 0;
constexpr int kStepCount = static_cast<int>(Step::kSteps);
// The number of deaths at the same step, each later in the work.
constexpr int kTimes = 2;
// A user id without an account.
constexpr uid_t kService = 12345;

Step fatal_step = Step::kSteps;
int times_left = 0;

void DieAtStep(Step step) {
  if (step == fatal_step && times_left-- == 0) raise(SIGKILL);
}

// An acknowledged record, as the child reports it.
struct Acknowledged {
  uint64_t seq;
  uint64_t number;  // its payload is PayloadOf(number)
};

class MortalTestFolder : public SharedTestFolder {
 protected:
  // Runs in the child: the work of a member, until it dies or has finished.
  void Work(int out) {
    uint64_t number = 1'000'000;
    const auto tell = [out](uint64_t seq, uint64_t told) {
      const Acknowledged line{seq, told};
      if (write(out, &line, sizeof line) != sizeof line) _exit(3);
    };
    for (int round = 0; round < 4; ++round) {
      Result<std::unique_ptr<SharedLog>> log = TryOpen();
      if (!log.ok()) _exit(2);
      for (int i = 0; i < 50; ++i, ++number) {
        const std::string text = PayloadOf(number);
        const Result<uint64_t> seq = i % 10 == 9 ? (*log)->AppendSync(AsBytes(text), Level::kFull)
                                                 : (*log)->Write(AsBytes(text));
        if (!seq.ok()) _exit(2);
        tell(*seq, number);
      }
      const std::string texts[] = {PayloadOf(number), PayloadOf(number + 1), PayloadOf(number + 2)};
      const PayloadParts batch[] = {AsBytes(texts[0]), AsBytes(texts[1]), AsBytes(texts[2])};
      const Result<uint64_t> first = (*log)->WriteBatch(batch, 3);
      if (!first.ok()) _exit(2);
      for (uint64_t i = 0; i < 3; ++i) tell(*first + i, number + i);
      number += 3;
      (*log)->BeginTrim(0)->RunOnce();
      Leave(std::move(*log));
    }
    _exit(0);
  }

  // Runs a child that dies when it reaches `step` for the `times`th time. Returns whether it died.
  bool KillAt(Step step, int times) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      fatal_step = step;
      times_left = times;
      step_hook_for_tests = DieAtStep;
      Work(ends[1]);
    }
    close(ends[1]);
    Acknowledged line;
    while (read(ends[0], &line, sizeof line) == sizeof line) acknowledged_.push_back(line);
    close(ends[0]);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << status;
    return WIFSIGNALED(status);
  }

  void NoteOwn(uint64_t seq, uint64_t number) { acknowledged_.push_back({seq, number}); }

  void ExpectAcknowledgedOnce() {
    std::vector<std::pair<uint64_t, std::string>> records = ReadAll();
    EXPECT_TRUE(std::is_sorted(records.begin(), records.end()));
    for (const Acknowledged& line : acknowledged_) {
      const auto found =
          std::lower_bound(records.begin(), records.end(), std::make_pair(line.seq, std::string()));
      ASSERT_TRUE(found != records.end() && found->first == line.seq) << "seq " << line.seq;
      EXPECT_EQ(found->second, PayloadOf(line.number));
    }
  }

  std::vector<Acknowledged> acknowledged_;
};

class SharedDeathTest : public MortalTestFolder, public testing::WithParamInterface<int> {};

TEST_P(SharedDeathTest, CostsTheOthersNothing) {
  const Step step = static_cast<Step>(GetParam());
  int died = 0;
  for (int times = 0; times < kTimes; ++times) {
    std::unique_ptr<SharedLog> survivor = OpenMember();
    ASSERT_NE(survivor, nullptr);
    uint64_t number = static_cast<uint64_t>(times) * 1000;
    for (int i = 0; i < 3; ++i, ++number) NoteOwn(Write(*survivor, PayloadOf(number)), number);
    if (KillAt(step, times * 5)) ++died;
    for (int i = 0; i < 3; ++i, ++number) NoteOwn(Write(*survivor, PayloadOf(number)), number);
    const Result<uint64_t> synced = survivor->AppendSync(AsBytes(PayloadOf(number)), Level::kSync);
    ASSERT_TRUE(synced.ok()) << synced.status().message();
    NoteOwn(*synced, number);
    ExpectAcknowledgedOnce();
    ExpectClean();
    // The next member gets the slot of the dead one.
    std::unique_ptr<SharedLog> next = OpenMember();
    ASSERT_NE(next, nullptr);
    ++number;
    NoteOwn(Write(*next, PayloadOf(number)), number);
    EXPECT_EQ(survivor->CountMembers(), 2u);
    Leave(std::move(next));
    Leave(std::move(survivor));
    ExpectClean();
  }
  // The first member alone recovers.
  const bool of_the_first = step == Step::kRecovered || step == Step::kEndSynced;
  EXPECT_TRUE(of_the_first || died > 0);
  std::unique_ptr<Log> alone = Open(Small());
  ASSERT_NE(alone, nullptr);
  EXPECT_EQ(alone->recovery().state, RecoveryState::kClean);
  ExpectAcknowledgedOnce();
}

TEST_P(SharedDeathTest, OfTheOnlyMemberIsRecoveredByTheNext) {
  const Step step = static_cast<Step>(GetParam());
  for (int times = 0; times < kTimes; ++times) {
    KillAt(step, times * 5);
    std::unique_ptr<SharedLog> next = OpenMember();
    ASSERT_NE(next, nullptr);
    EXPECT_NE(next->recovery().state, RecoveryState::kCorrupt);
    const auto number = static_cast<uint64_t>(times);
    NoteOwn(Write(*next, PayloadOf(number)), number);
    ExpectAcknowledgedOnce();
    Leave(std::move(next));
    ExpectClean();
  }
}

using SharedDeathsTest = MortalTestFolder;

TEST_F(SharedDeathsTest, OneAfterTheOtherAtEveryStepCostTheSurvivorNothing) {
  std::unique_ptr<SharedLog> survivor = OpenMember();
  for (int step = kFirst; step < kStepCount; ++step) {
    KillAt(Step::kReserved, step);
    KillAt(static_cast<Step>(step), 1);
    const auto number = static_cast<uint64_t>(step);
    NoteOwn(Write(*survivor, PayloadOf(number)), number);
  }
  ExpectAcknowledgedOnce();
  ExpectClean();
  Leave(std::move(survivor));
  ExpectClean();
}

TEST_F(SharedDeathsTest, WhileMakingASpareLeaveOneFileAtMost) {
  std::unique_ptr<SharedLog> survivor = OpenMember();
  const auto spares = [this] {
    Result<std::unique_ptr<Directory>> folder =
        DefaultFileSystem().OpenDirectory(PathOf("log"), false);
    return ListLogFiles(**folder)->spares.size();
  };
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(KillAt(Step::kSpareMade, 0));
    EXPECT_LE(spares(), 1u);
  }
  Leave(std::move(survivor));
  EXPECT_EQ(spares(), 0u);
}

TEST_F(SharedDeathsTest, OfAMemberOfRootDoNotLockTheOwnerOfTheLogOut) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give a file to another user";
  Leave(OpenMember());
  const auto for_each_file = [this](const std::function<void(const std::string&)>& visit) {
    for (const auto& entry : std::filesystem::directory_iterator(PathOf("log"))) {
      visit(entry.path().string());
    }
  };
  for_each_file([](const std::string& path) {
    ASSERT_EQ(chown(path.c_str(), kService, kService), 0) << path;
  });
  ASSERT_EQ(chown(PathOf("log").c_str(), kService, kService), 0);
  EXPECT_TRUE(KillAt(Step::kRenamed, 0));
  for_each_file([](const std::string& path) {
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0) << path;
    EXPECT_EQ(info.st_uid, kService) << path;
    EXPECT_EQ(info.st_gid, kService) << path;
  });
}

INSTANTIATE_TEST_SUITE_P(AtEveryStep, SharedDeathTest, testing::Range(kFirst, kStepCount));

}  // namespace
}  // namespace durlog
