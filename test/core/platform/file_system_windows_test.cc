// What only Windows has: reparse points, sharing violations, long paths and drive letters.

#include <gtest/gtest.h>
#include <windows.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "platform/file_system.h"
#include "platform/windows_handle.h"
#include "platform/windows_path.h"
#include "platform/windows_reparse.h"
#include "platform/windows_retry.h"
#include "platform_test_folder.h"

namespace durlog {
namespace {

using PlatformWindowsTest = PlatformTest;

constexpr DWORD kPlain = FILE_ATTRIBUTE_NORMAL;
constexpr DWORD kReparse = FILE_ATTRIBUTE_REPARSE_POINT;

TEST(WindowsReparseTest, LinksFoldersAndDevicesAreNotRegular) {
  EXPECT_TRUE(IsRegular(kPlain, 0));
  for (const DWORD tag : {IO_REPARSE_TAG_CLOUD, IO_REPARSE_TAG_CLOUD_1, IO_REPARSE_TAG_DEDUP,
                          IO_REPARSE_TAG_WOF, IO_REPARSE_TAG_ONEDRIVE}) {
    EXPECT_TRUE(IsRegular(kReparse, tag)) << std::hex << tag;
  }
  EXPECT_FALSE(IsRegular(kReparse, IO_REPARSE_TAG_SYMLINK));
  EXPECT_FALSE(IsRegular(kReparse, IO_REPARSE_TAG_MOUNT_POINT));
  EXPECT_FALSE(IsRegular(FILE_ATTRIBUTE_DIRECTORY, 0));
  EXPECT_FALSE(IsRegular(FILE_ATTRIBUTE_DEVICE, 0));
  // The tag has no meaning if the file is not a reparse point.
  EXPECT_TRUE(IsRegular(kPlain, IO_REPARSE_TAG_SYMLINK));
}

// Answers `error` `times` times and then with success.
struct Busy {
  DWORD error;
  int times;
  int calls = 0;
  DWORD operator()() { return ++calls > times ? 0 : error; }
};

TEST(WindowsRetryTest, AFileInUseIsRetried) {
  Busy busy{ERROR_SHARING_VIOLATION, 3};
  std::vector<DWORD> pauses;
  const auto pause = [&pauses](DWORD ms) { pauses.push_back(ms); };
  EXPECT_EQ(RetryWhile(
                MayBeInUse, [&busy] { return busy(); }, pause),
            0u);
  EXPECT_EQ(pauses, (std::vector<DWORD>{1, 2, 4}));
}

TEST(WindowsRetryTest, RetriesEndAfterASecond) {
  Busy busy{ERROR_ACCESS_DENIED, 1000};
  DWORD waited_ms = 0;
  const auto pause = [&waited_ms](DWORD ms) { waited_ms += ms; };
  EXPECT_EQ(RetryWhile(
                MayBeInUse, [&busy] { return busy(); }, pause),
            static_cast<DWORD>(ERROR_ACCESS_DENIED));
  EXPECT_EQ(waited_ms, 1023u);
  EXPECT_EQ(busy.calls, 11);
}

TEST(WindowsRetryTest, LastingErrorsAreReportedAtOnce) {
  Busy busy{ERROR_FILE_NOT_FOUND, 1};
  EXPECT_EQ(RetryWhile(
                MayBeInUse, [&busy] { return busy(); }, [](DWORD) { FAIL(); }),
            static_cast<DWORD>(ERROR_FILE_NOT_FOUND));
}

// A handle that shares nothing, as a virus scanner's.
ScopedHandle OpenExclusively(const std::string& path) {
  return ScopedHandle(CreateFileW(AbsoluteWidePath(path)->c_str(), GENERIC_READ, 0, nullptr,
                                  OPEN_EXISTING, 0, nullptr));
}

TEST_F(PlatformWindowsTest, AnUnsharedFileNamesItsReason) {
  MakeFile("file");
  MakeFile("other");
  const ScopedHandle scanner = OpenExclusively(PathOf("file"));
  ASSERT_TRUE(scanner.valid());
  for (const Status& status :
       {folder_->Open("file", OpenMode::kRead).TakeStatus(), folder_->Remove("file"),
        folder_->Rename("other", "file"), folder_->Rename("file", "third")}) {
    EXPECT_EQ(status.code(), Code::kIo);
    EXPECT_EQ(status.sys_errno(), EACCES);
  }
}

TEST_F(PlatformWindowsTest, PosixSemanticsReplaceAnOpenFile) {
  const std::unique_ptr<File> old = MakeFile("name", 5);
  MakeFile("new", 3);
  const Status renamed = folder_->Rename("new", "name");
  if (!renamed.ok()) {
    EXPECT_EQ(renamed.sys_errno(), EACCES) << renamed.message();
    GTEST_SKIP() << kNoPosixRename;
  }
  EXPECT_EQ(old->Size().value(), 5u);
  EXPECT_EQ((*folder_->Open("name", OpenMode::kRead))->Size().value(), 3u);
}

TEST_F(PlatformWindowsTest, EverySpellingOfAPathOpens) {
  ASSERT_TRUE(DefaultFileSystem().OpenDirectory(PathOf("a\\b"), true).ok());
  ASSERT_TRUE((*DefaultFileSystem().OpenDirectory(PathOf("a\\b"), false))
                  ->Open("file", OpenMode::kCreateNew)
                  .ok());
  std::string slashes = PathOf("a/b");
  std::replace(slashes.begin(), slashes.end(), '\\', '/');
  const std::string verbatim = NarrowFromWide(*AbsoluteWidePath(PathOf("a\\b")));
  EXPECT_EQ(verbatim.substr(0, 4), "\\\\?\\");
  for (const std::string& path : {slashes, slashes + "/", PathOf("a\\b\\"), PathOf("a\\.\\b"),
                                  PathOf("a\\x\\..\\b"), verbatim}) {
    Result<std::unique_ptr<Directory>> folder = DefaultFileSystem().OpenDirectory(path, false);
    ASSERT_TRUE(folder.ok()) << path << ": " << folder.status().message();
    EXPECT_TRUE((*folder)->Open("file", OpenMode::kRead).ok()) << path;
  }
}

// Node makes the same folders of these paths.
TEST_F(PlatformWindowsTest, NamesAreTakenLiterally) {
  for (const std::string name : {"dots..", "space ", "con", "nul.txt"}) {
    ASSERT_TRUE(DefaultFileSystem().OpenDirectory(PathOf(name), true).ok()) << name;
    const Result<std::vector<FileEntry>> entries = folder_->List();
    ASSERT_TRUE(entries.ok());
    EXPECT_TRUE(std::any_of(entries->begin(), entries->end(), [&](const FileEntry& entry) {
      return entry.name == name;
    })) << name;
    EXPECT_TRUE(RemoveDirectoryW(AbsoluteWidePath(PathOf(name))->c_str())) << name;
  }
}

TEST_F(PlatformWindowsTest, AMappedFileKeepsItsName) {
  const std::unique_ptr<File> file = MakeFile("file", 4096);
  const Result<std::unique_ptr<Mapping>> map = file->Map(0, 4096);
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(folder_->Remove("file").sys_errno(), EACCES);
  EXPECT_EQ(folder_->List()->size(), 1u);
  EXPECT_TRUE(folder_->Open("file", OpenMode::kRead).ok());
}

TEST_F(PlatformWindowsTest, LongPathsAreMadeAndOpened) {
  std::string path = root_;
  for (int i = 0; i < 8; ++i) path += "\\" + std::string(50, static_cast<char>('a' + i));
  ASSERT_GT(path.size(), 400u);
  Result<std::unique_ptr<Directory>> folder = DefaultFileSystem().OpenDirectory(path, true);
  ASSERT_TRUE(folder.ok()) << folder.status().message();
  ASSERT_TRUE((*folder)->Open("before", OpenMode::kCreateNew).ok());
  EXPECT_TRUE((*folder)->Rename("before", "after").ok());
  EXPECT_TRUE((*folder)->Sync().ok());
  EXPECT_EQ((*folder)->List()->size(), 1u);
  EXPECT_TRUE((*folder)->Remove("after").ok());
}

TEST_F(PlatformWindowsTest, AStreamIsNoFileOfTheFolder) {
  MakeFile("file");
  EXPECT_EQ(folder_->Open("file:stream", OpenMode::kCreateNew).status().code(),
            Code::kInvalidArgument);
}

TEST_F(PlatformWindowsTest, AnOpenFolderCannotBeRenamedAway) {
  EXPECT_FALSE(
      MoveFileW(AbsoluteWidePath(root_)->c_str(), AbsoluteWidePath(root_ + "-moved")->c_str()));
}

TEST_F(PlatformWindowsTest, TheOwnerOfALockIsThisProcess) {
  const Result<std::unique_ptr<FileLock>> lock = folder_->Lock("lock");
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(folder_->Lock("lock").status().owner_pid(),
            static_cast<int64_t>(GetCurrentProcessId()));
}

}  // namespace
}  // namespace durlog
