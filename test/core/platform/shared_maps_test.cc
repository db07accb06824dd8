// What several processes share of a file: its map, its lock, and which file it is.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "base/owner_line.h"
#include "platform/file_system.h"
#include "platform_test_folder.h"

#ifndef _WIN32
#include <signal.h>
#include <sys/wait.h>
#endif

namespace durlog {
namespace {

class PlatformSharedTest : public PlatformTest {
 protected:
  void SetUp() override { file_ = MakeFile("file", 4096); }
  std::unique_ptr<File> Reopen(OpenMode mode) {
    Result<std::unique_ptr<File>> file = folder_->Open("file", mode);
    if (!file.ok()) std::abort();
    return std::move(file.value());
  }
  std::unique_ptr<File> file_;
};

#ifndef _WIN32
TEST_F(PlatformSharedTest, AnotherProcessSeesStoresIntoAMap) {
  Result<std::unique_ptr<Mapping>> map = file_->Map(0, 4096);
  ASSERT_TRUE(map.ok());
  std::memcpy((*map)->data() + 8, "before", 6);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Result<std::unique_ptr<Mapping>> seen = Reopen(OpenMode::kRead)->MapForReading(0, 4096);
    if (!seen.ok() || std::memcmp((*seen)->data() + 8, "before", 6) != 0) _exit(1);
    (void)!write(ready[1], "y", 1);
    const volatile uint8_t* const byte = (*seen)->data();
    while (*byte != 'a') usleep(100);
    _exit((*seen)->faulted() ? 2 : 0);
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  (*map)->data()[0] = 'a';
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  close(ready[0]);
  close(ready[1]);
}
#endif

TEST_F(PlatformSharedTest, ALoadPastACutFindsFlaggedZeros) {
  if (kKeepsMappedFiles) GTEST_SKIP() << kMappedFilesStay;
  const Result<std::unique_ptr<Mapping>> seen = Reopen(OpenMode::kRead)->MapForReading(0, 4096);
  ASSERT_TRUE(seen.ok());
  EXPECT_FALSE((*seen)->faulted());
  ASSERT_TRUE(file_->Truncate(0).ok());
  const volatile uint8_t* const byte = (*seen)->data();
  EXPECT_EQ(*byte, 0);
  EXPECT_TRUE((*seen)->faulted());
}

TEST_F(PlatformSharedTest, AskingForALockDoesNotTakeIt) {
  const std::unique_ptr<File> asking = Reopen(OpenMode::kRead);
  EXPECT_FALSE(asking->IsLocked().value());
  Result<std::unique_ptr<FileLock>> lock = file_->TryLock();
  ASSERT_TRUE(lock.ok());
  ASSERT_NE(*lock, nullptr);
  EXPECT_TRUE(asking->IsLocked().value());
  EXPECT_TRUE(asking->IsLocked().value());
  const std::unique_ptr<File> other = Reopen(OpenMode::kReadWrite);
  EXPECT_EQ(other->TryLock().value(), nullptr);
  lock->reset();
  EXPECT_FALSE(asking->IsLocked().value());
  EXPECT_NE(other->TryLock().value(), nullptr);
}

// On some systems a test takes the lock for a moment.
TEST_F(PlatformSharedTest, ALockThatAKilledOwnerLeftIsTakenWhileOthersTestIt) {
  std::atomic<bool> ended{false};
  std::thread tester([this, &ended] {
    const std::unique_ptr<File> asking = Reopen(OpenMode::kRead);
    while (!ended) static_cast<void>(asking->IsLocked());
  });
  constexpr int64_t kNoProcess = 0x7ffffff0;
  const std::string line = OwnerLine({kNoProcess, DefaultFileSystem().PidNamespace()});
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(file_->WriteAt(0, line.data(), line.size()).ok());
    const Result<std::unique_ptr<FileLock>> lock = folder_->Lock("file");
    EXPECT_TRUE(lock.ok()) << lock.status().message();
  }
  ended = true;
  tester.join();
}

#ifndef _WIN32
TEST_F(PlatformSharedTest, AFileLockEndsWithItsOwner) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::unique_ptr<File> file = Reopen(OpenMode::kReadWrite);
    const Result<std::unique_ptr<FileLock>> lock = file->TryLock();
    file.reset();
    (void)!write(ready[1], lock.ok() && *lock ? "y" : "n", 1);
    for (;;) pause();
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  EXPECT_TRUE(file_->IsLocked().value());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(file_->IsLocked().value());
  close(ready[0]);
  close(ready[1]);
}
#endif

TEST_F(PlatformSharedTest, AReplacedFileHasAnotherId) {
  const std::unique_ptr<File> same = Reopen(OpenMode::kRead);
  EXPECT_TRUE(file_->Id().value() == same->Id().value());
  const std::unique_ptr<File> other = MakeFile("other");
  EXPECT_FALSE(file_->Id().value() == other->Id().value());
  if (!folder_->Rename("other", "file").ok()) GTEST_SKIP() << kNoPosixRename;
  EXPECT_FALSE(Reopen(OpenMode::kRead)->Id().value() == same->Id().value());
}

}  // namespace
}  // namespace durlog
