#include "cursor/trim_lock.h"

#include <gtest/gtest.h>

#include "observed_file_system.h"
#include "platform_test_folder.h"

namespace durlog {
namespace {

using TrimLockTest = PlatformTest;

Code CheckOn(const std::string& path, const std::string& file_system) {
  ObservedFileSystem files([](const ObservedCall&) { return Status::Ok(); }, file_system);
  const Result<std::unique_ptr<Directory>> directory = files.OpenDirectory(path, false);
  return directory.ok() ? CheckTrims(DefaultFileSystem(), **directory).code()
                        : directory.status().code();
}

TEST_F(TrimLockTest, ATrimIsNoticedOnEachFileSystem) {
  for (const char* file_system : {"ext4", "nfs"}) {
    EXPECT_EQ(CheckOn(root_, file_system), Code::kOk) << file_system;
    Result<std::unique_ptr<FileLock>> lock = LockTrims(*folder_);
    ASSERT_TRUE(lock.ok()) << lock.status().message();
    EXPECT_EQ(CheckOn(root_, file_system), Code::kLocked) << file_system;
    lock->reset();
    EXPECT_EQ(CheckOn(root_, file_system), Code::kOk) << file_system;
    ASSERT_TRUE(folder_->Remove(kTrimLockName).ok());
  }
}

}  // namespace
}  // namespace durlog
