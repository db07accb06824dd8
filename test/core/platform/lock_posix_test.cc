// The writer's lock, over processes that die, fork and start others.

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "platform/file_system.h"
#include "platform_test_folder.h"

extern char** environ;

namespace durlog {
namespace {

using PlatformLockPosixTest = PlatformTest;

TEST_F(PlatformLockPosixTest, OurOwnLockIsRefusedWithOurPid) {
  Result<std::unique_ptr<FileLock>> first = folder_->Lock("lock");
  ASSERT_TRUE(first.ok());
  const Status refused = folder_->Lock("lock").TakeStatus();
  EXPECT_EQ(refused.code(), Code::kLocked);
  EXPECT_EQ(refused.owner_pid(), getpid());
  EXPECT_EQ(refused.path(), PathOf("lock"));
  first.value().reset();
  EXPECT_TRUE(folder_->Lock("lock").ok());
}

TEST_F(PlatformLockPosixTest, ALockHeldByThisProcessSaysSo) {
  Result<std::unique_ptr<FileLock>> first = folder_->Lock("lock");
  ASSERT_TRUE(first.ok());
  EXPECT_NE(folder_->Lock("lock").TakeStatus().message().find("this process has the log open"),
            std::string::npos);
}

TEST_F(PlatformLockPosixTest, ALockThatWasLetGoNamesNobody) {
  folder_->Lock("lock").value().reset();
  std::string line;
  std::getline(std::ifstream(PathOf("lock")), line);
  EXPECT_EQ(line.find_first_not_of(' '), std::string::npos);
}

// The owner of the moment may have the lock and not have written its pid yet.
TEST_F(PlatformLockPosixTest, ARefusalAlwaysNamesTheOwnersPid) {
  constexpr int kRounds = 300;
  const pid_t child = fork();
  if (child == 0) {
    for (;;) folder_->Lock("lock").ok();
  }
  int refused = 0;
  for (int i = 0; i < 1'000'000 && refused < kRounds; ++i) {
    Result<std::unique_ptr<FileLock>> lock = folder_->Lock("lock");
    if (lock.ok()) continue;
    ++refused;
    EXPECT_EQ(lock.status().owner_pid(), child);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(refused, kRounds);
}

TEST_F(PlatformLockPosixTest, ALockDiesWithItsOwner) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    Result<std::unique_ptr<FileLock>> lock = folder_->Lock("lock");
    (void)!write(ready[1], lock.ok() ? "y" : "n", 1);
    for (;;) pause();
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  const Status refused = folder_->Lock("lock").TakeStatus();
  EXPECT_EQ(refused.code(), Code::kLocked);
  EXPECT_EQ(refused.owner_pid(), child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(folder_->Lock("lock").ok());
  close(ready[0]);
  close(ready[1]);
}

TEST_F(PlatformLockPosixTest, AStartedProgramDoesNotKeepTheLock) {
  Result<std::unique_ptr<FileLock>> lock = folder_->Lock("lock");
  ASSERT_TRUE(lock.ok());
  char name[] = "sleep", seconds[] = "60";
  char* const arguments[] = {name, seconds, nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawnp(&child, name, nullptr, nullptr, arguments, environ), 0);
  lock.value().reset();
  EXPECT_TRUE(folder_->Lock("lock").ok());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(PlatformLockPosixTest, AForkedChildsExitKeepsTheLock) {
  Result<std::unique_ptr<FileLock>> lock = folder_->Lock("lock");
  ASSERT_TRUE(lock.ok());
  const pid_t child = fork();
  if (child == 0) {
    lock.value().reset();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(folder_->Lock("lock").status().code(), Code::kLocked);
}

TEST_F(PlatformLockPosixTest, AForkedChildKeepsNoClosedLog) {
  Result<std::unique_ptr<FileLock>> lock = folder_->Lock("lock");
  ASSERT_TRUE(lock.ok());
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  lock.value().reset();
  EXPECT_TRUE(folder_->Lock("lock").ok());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(PlatformLockPosixTest, ALongerOldPidIsCovered) {
  std::ofstream(PathOf("lock")) << "9876543210987654\n";
  Result<std::unique_ptr<FileLock>> lock = folder_->Lock("lock");
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(folder_->Lock("lock").status().owner_pid(), getpid());
}

}  // namespace
}  // namespace durlog
