// Locks of ranges, by which several writers of a log know of each other.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "platform/file_system.h"
#include "platform_test_folder.h"

namespace durlog {
namespace {

class RangeLockTest : public PlatformTest {
 protected:
  void SetUp() override {
    first_ = MakeFile("locks");
    second_ = Open();
    const Result<bool> tried = first_->TryLockRange(LockKind::kExclusive, 0, 1);
    if (tried.status().code() == Code::kUnsupported) {
      GTEST_SKIP() << "not here: " << tried.status().message();
    }
    ASSERT_TRUE(first_->UnlockRange(0, 1).ok());
  }
  std::unique_ptr<File> Open(OpenMode mode = OpenMode::kReadWrite) {
    Result<std::unique_ptr<File>> file = folder_->Open("locks", mode);
    EXPECT_TRUE(file.ok());
    return std::move(file.value());
  }
  static bool Try(File& file, LockKind kind, uint64_t offset, uint64_t length) {
    const Result<bool> taken = file.TryLockRange(kind, offset, length);
    EXPECT_TRUE(taken.ok()) << taken.status().message();
    return taken.ok() && *taken;
  }
  static std::optional<LockKind> Ask(File& file, uint64_t offset, uint64_t length) {
    const Result<std::optional<LockKind>> kind = file.RangeLockOfOthers(offset, length);
    EXPECT_TRUE(kind.ok()) << kind.status().message();
    return kind.ok() ? *kind : std::nullopt;
  }

  std::unique_ptr<File> first_;
  std::unique_ptr<File> second_;
};

TEST_F(RangeLockTest, ABytesLockKeepsOutEveryOtherOpenOfTheFileAndNoOtherByte) {
  EXPECT_TRUE(Try(*first_, LockKind::kExclusive, 7, 1));
  EXPECT_FALSE(Try(*second_, LockKind::kExclusive, 7, 1));
  EXPECT_FALSE(Try(*second_, LockKind::kShared, 7, 1));
  EXPECT_TRUE(Try(*second_, LockKind::kExclusive, 8, 1));
  EXPECT_EQ(Ask(*second_, 7, 1), LockKind::kExclusive);
  EXPECT_EQ(Ask(*second_, 0, 7), std::nullopt);
  ASSERT_TRUE(first_->UnlockRange(7, 1).ok());
  EXPECT_TRUE(Try(*second_, LockKind::kExclusive, 7, 1));
}

TEST_F(RangeLockTest, NobodyIsToldOfALockOfItsOwn) {
  EXPECT_TRUE(Try(*first_, LockKind::kExclusive, 7, 1));
  EXPECT_EQ(Ask(*first_, 0, 0), std::nullopt);
}

TEST_F(RangeLockTest, SharedLocksLetEachOtherInAndNoExclusiveOne) {
  EXPECT_TRUE(Try(*first_, LockKind::kShared, 0, 0));
  EXPECT_TRUE(Try(*second_, LockKind::kShared, 0, 0));
  EXPECT_EQ(Ask(*second_, 0, 0), LockKind::kShared);
  EXPECT_FALSE(Try(*second_, LockKind::kExclusive, 0, 0));
  // The refusal has left the second one its shared lock.
  EXPECT_EQ(Ask(*first_, 0, 0), LockKind::kShared);
  ASSERT_TRUE(second_->UnlockRange(0, 0).ok());
  EXPECT_TRUE(Try(*first_, LockKind::kExclusive, 0, 0));
  EXPECT_TRUE(Try(*first_, LockKind::kShared, 0, 0));
  EXPECT_TRUE(Try(*second_, LockKind::kShared, 0, 0));
}

TEST_F(RangeLockTest, AReaderOfTheFileSeesASharedLock) {
  EXPECT_TRUE(Try(*first_, LockKind::kShared, 0, 0));
  const std::unique_ptr<File> reader = Open(OpenMode::kRead);
  const Result<bool> locked = reader->IsLocked();
  ASSERT_TRUE(locked.ok());
  EXPECT_TRUE(*locked);
}

TEST_F(RangeLockTest, AWriterThatWantsTheFileAloneIsToldThatItIsShared) {
  EXPECT_TRUE(Try(*first_, LockKind::kShared, 0, 0));
  const Status refused = folder_->Lock("locks").TakeStatus();
  EXPECT_EQ(refused.code(), Code::kLocked);
  EXPECT_NE(refused.message().find("shared mode"), std::string::npos);
}

TEST_F(RangeLockTest, ALockEndsWithTheOpenFileAndWithItsProcess) {
  EXPECT_TRUE(Try(*first_, LockKind::kExclusive, 3, 1));
  first_.reset();
  EXPECT_EQ(Ask(*second_, 3, 1), std::nullopt);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Result<std::unique_ptr<File>> file = folder_->Open("locks", OpenMode::kReadWrite);
    const bool taken = file.ok() && Try(**file, LockKind::kExclusive, 3, 1);
    (void)!write(ready[1], taken ? "y" : "n", 1);
    for (;;) pause();
  }
  char taken = 0;
  ASSERT_EQ(read(ready[0], &taken, 1), 1);
  EXPECT_EQ(taken, 'y');
  EXPECT_EQ(Ask(*second_, 3, 1), LockKind::kExclusive);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(Ask(*second_, 3, 1), std::nullopt);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace durlog
