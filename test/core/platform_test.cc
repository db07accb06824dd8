// Folders, files and the probe. Maps and locks have files of their own beside this one.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "platform/file_system.h"
#include "platform_test_folder.h"

namespace durlog {
namespace {

Code OpenFolderCode(const std::string& path, bool create) {
  return DefaultFileSystem().OpenDirectory(path, create).status().code();
}

unsigned ModeOf(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777u : 0;
}

TEST_F(PlatformTest, AMissingFolderIsNotFoundAndNotMade) {
  EXPECT_EQ(OpenFolderCode(PathOf("none"), false), Code::kNotFound);
  EXPECT_EQ(OpenFolderCode(PathOf("none"), false), Code::kNotFound);
}

TEST_F(PlatformTest, CreatingAFolderMakesItsParentsForTheOwnerOnly) {
  const mode_t old_mask = umask(0);
  EXPECT_EQ(OpenFolderCode(PathOf("a/b//c///"), true), Code::kOk);
  umask(old_mask);
  for (const char* name : {"a", "a/b", "a/b/c"}) EXPECT_EQ(ModeOf(PathOf(name)), 0700u) << name;
  EXPECT_EQ(OpenFolderCode(PathOf("a/b/c"), true), Code::kOk);
}

TEST_F(PlatformTest, AFileInTheFoldersPlaceIsNotALog) {
  MakeFile("file");
  for (const bool create : {false, true}) {
    EXPECT_EQ(OpenFolderCode(PathOf("file"), create), Code::kNotALog);
    EXPECT_EQ(OpenFolderCode(PathOf("file/below"), create), Code::kNotALog);
  }
}

TEST_F(PlatformTest, APathThatNamesNoFolderIsRefused) {
  EXPECT_EQ(OpenFolderCode("", true), Code::kInvalidArgument);
  EXPECT_EQ(OpenFolderCode(root_ + std::string("/a\0b", 4), true), Code::kInvalidArgument);
  EXPECT_EQ(OpenFolderCode("/", true), Code::kOk);
}

TEST_F(PlatformTest, ANameThatLeavesTheFolderIsRefused) {
  const std::vector<std::string> names = {
      "", ".", "..", "../x", "a/b", "/x", std::string("a\0b", 3)};
  for (const std::string& name : names) {
    EXPECT_EQ(folder_->Open(name, OpenMode::kCreateNew).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(folder_->Lock(name).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(folder_->Remove(name).code(), Code::kInvalidArgument);
    EXPECT_EQ(folder_->Rename("x", name).code(), Code::kInvalidArgument);
  }
  EXPECT_TRUE(folder_->List()->empty());
}

TEST_F(PlatformTest, AMissingFileIsNotFound) {
  for (const OpenMode mode : {OpenMode::kRead, OpenMode::kReadWrite, OpenMode::kDirect}) {
    const Status status = folder_->Open("none", mode).TakeStatus();
    EXPECT_EQ(status.code(), Code::kNotFound);
    EXPECT_EQ(status.sys_errno(), ENOENT);
    EXPECT_EQ(status.path(), PathOf("none"));
  }
  EXPECT_EQ(folder_->Remove("none").code(), Code::kNotFound);
  EXPECT_EQ(folder_->Rename("none", "other").code(), Code::kNotFound);
}

TEST_F(PlatformTest, CreateNewNeverOpensWhatExists) {
  MakeFile("file");
  EXPECT_EQ(folder_->Open("file", OpenMode::kCreateNew).status().sys_errno(), EEXIST);
}

TEST_F(PlatformTest, ASymbolicLinkIsNeverFollowed) {
  MakeFile("target", 10);
  ASSERT_EQ(symlink("target", PathOf("link").c_str()), 0);
  ASSERT_EQ(symlink("made", PathOf("dangling").c_str()), 0);
  for (const OpenMode mode : {OpenMode::kRead, OpenMode::kReadWrite, OpenMode::kDirect}) {
    EXPECT_EQ(folder_->Open("link", mode).status().code(), Code::kNotALog);
  }
  EXPECT_FALSE(folder_->Open("dangling", OpenMode::kCreateNew).ok());
  EXPECT_EQ(folder_->Lock("link").status().code(), Code::kNotALog);
  EXPECT_EQ(folder_->Lock("dangling").status().code(), Code::kNotALog);
  EXPECT_EQ(folder_->Open("made", OpenMode::kRead).status().code(), Code::kNotFound);
}

TEST_F(PlatformTest, AFifoIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(mkfifo(PathOf("fifo").c_str(), 0600), 0);
  EXPECT_EQ(folder_->Open("fifo", OpenMode::kRead).status().code(), Code::kNotALog);
}

TEST_F(PlatformTest, AFolderInAFilesPlaceIsNotALog) {
  ASSERT_EQ(mkdir(PathOf("sub").c_str(), 0700), 0);
  EXPECT_EQ(folder_->Open("sub", OpenMode::kRead).status().code(), Code::kNotALog);
  EXPECT_EQ(folder_->Open("sub", OpenMode::kReadWrite).status().code(), Code::kNotALog);
}

TEST_F(PlatformTest, FilesAreForTheOwnerOnly) {
  const mode_t old_mask = umask(0);
  MakeFile("segment");
  EXPECT_TRUE(folder_->Lock("lock").ok());
  umask(old_mask);
  EXPECT_EQ(ModeOf(PathOf("segment")), 0600u);
  EXPECT_EQ(ModeOf(PathOf("lock")), 0600u);
}

TEST_F(PlatformTest, ListGivesEveryNameAndTellsRegularFilesEachTime) {
  MakeFile("file");
  ASSERT_EQ(mkdir(PathOf("sub").c_str(), 0700), 0);
  ASSERT_EQ(symlink("file", PathOf("link").c_str()), 0);
  for (int round = 0; round < 2; ++round) {
    Result<std::vector<FileEntry>> entries = folder_->List();
    ASSERT_TRUE(entries.ok());
    std::set<std::string> names, regular;
    for (const FileEntry& entry : *entries) {
      names.insert(entry.name);
      if (entry.is_regular) regular.insert(entry.name);
    }
    EXPECT_EQ(names, (std::set<std::string>{"file", "sub", "link"}));
    EXPECT_EQ(regular, (std::set<std::string>{"file"}));
  }
}

TEST_F(PlatformTest, RenameReplacesAndSyncSucceeds) {
  ASSERT_TRUE(MakeFile("new")->WriteAt(0, "new", 3).ok());
  ASSERT_TRUE(MakeFile("old")->WriteAt(0, "older", 5).ok());
  ASSERT_TRUE(folder_->Rename("new", "old").ok());
  ASSERT_TRUE(folder_->Sync().ok());
  Result<std::unique_ptr<File>> file = folder_->Open("old", OpenMode::kRead);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->Size().value(), 3u);
  EXPECT_EQ(folder_->List()->size(), 1u);
}

TEST_F(PlatformTest, AFolderThatWasMovedIsStillTheSameFolder) {
  ASSERT_EQ(OpenFolderCode(PathOf("before"), true), Code::kOk);
  auto folder = DefaultFileSystem().OpenDirectory(PathOf("before"), false);
  ASSERT_EQ(rename(PathOf("before").c_str(), PathOf("after").c_str()), 0);
  EXPECT_TRUE((*folder)->Open("file", OpenMode::kCreateNew).ok());
  EXPECT_EQ(access(PathOf("after/file").c_str(), F_OK), 0);
}

TEST_F(PlatformTest, WhatWasWrittenIsReadAndTheEndIsShort) {
  std::unique_ptr<File> file = MakeFile("file");
  ASSERT_TRUE(file->WriteAt(5, "hello", 5).ok());
  char read[20] = {};
  EXPECT_EQ(file->ReadAt(0, read, sizeof read).value(), 10u);
  EXPECT_EQ(std::string(read, 10), std::string("\0\0\0\0\0hello", 10));
  EXPECT_EQ(file->ReadAt(7, read, 2).value(), 2u);
  EXPECT_EQ(file->ReadAt(10, read, 1).value(), 0u);
  EXPECT_TRUE(file->StartWriteback(0, 10).ok());
  EXPECT_TRUE(file->StartWriteback(0, 0).ok());
  EXPECT_TRUE(file->SyncData().ok());
  EXPECT_TRUE(file->SyncFull().ok());
  ASSERT_TRUE(file->Truncate(3).ok());
  EXPECT_EQ(file->Size().value(), 3u);
}

TEST_F(PlatformTest, AFailedWriteTellsOperationPathAndOffset) {
  MakeFile("file");
  Result<std::unique_ptr<File>> file = folder_->Open("file", OpenMode::kRead);
  ASSERT_TRUE(file.ok());
  const Status status = (*file)->WriteAt(4096, "x", 1);
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_EQ(status.sys_errno(), EBADF);
  EXPECT_STREQ(status.operation(), "pwrite");
  EXPECT_EQ(status.path(), PathOf("file"));
  EXPECT_EQ(status.offset(), 4096);
}

TEST_F(PlatformTest, AClosedFileAnswersWithErrorsAndClosesAgain) {
  std::unique_ptr<File> file = MakeFile("file");
  EXPECT_TRUE(file->Close().ok());
  EXPECT_TRUE(file->Close().ok());
  EXPECT_EQ(file->WriteAt(0, "x", 1).sys_errno(), EBADF);
  EXPECT_EQ(file->SyncData().sys_errno(), EBADF);
}

uint64_t AllocatedBytes(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_blocks) * 512 : 0;
}

TEST_F(PlatformTest, EachPreallocationDoesWhatItsNameSays) {
  constexpr uint64_t kBytes = 1 << 20;
  const struct {
    Preallocation how;
    uint64_t size;
    bool allocated;
  } cases[] = {{Preallocation::kNone, 0, false},
               {Preallocation::kSparse, kBytes, false},
               {Preallocation::kFallocate, kBytes, true},
               {Preallocation::kKeepSize, 0, true},
               {Preallocation::kZeroRange, kBytes, true}};
  for (const auto& test : cases) {
    const std::string name = "file" + std::to_string(static_cast<int>(test.how));
    std::unique_ptr<File> file = MakeFile(name);
    const Status status = file->Allocate(test.how, 0, kBytes);
    if (status.code() == Code::kUnsupported) continue;
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(file->Size().value(), test.size) << name;
    EXPECT_EQ(AllocatedBytes(PathOf(name)) >= kBytes, test.allocated) << name;
  }
  for (const Preallocation how : {Preallocation::kZero, Preallocation::kRecycle}) {
    EXPECT_EQ(
        MakeFile("file" + std::to_string(static_cast<int>(how)))->Allocate(how, 0, kBytes).code(),
        Code::kInvalidArgument);
  }
}

TEST_F(PlatformTest, NoPreallocationCutsAFile) {
  std::unique_ptr<File> file = MakeFile("file", 10000);
  for (const Preallocation how :
       {Preallocation::kNone, Preallocation::kSparse, Preallocation::kFallocate,
        Preallocation::kKeepSize, Preallocation::kZeroRange}) {
    const Status status = file->Allocate(how, 0, 4096);
    EXPECT_TRUE(status.ok() || status.code() == Code::kUnsupported);
    EXPECT_EQ(file->Size().value(), 10000u);
  }
}

TEST_F(PlatformTest, ADirectWriteIsReadBack) {
  if (!folder_->Probe()->direct_io) GTEST_SKIP() << "no direct I/O here";
  MakeFile("file", 16384);
  Result<std::unique_ptr<File>> file = folder_->Open("file", OpenMode::kDirect);
  ASSERT_TRUE(file.ok());
  alignas(4096) static char block[8192];
  std::fill(std::begin(block), std::end(block), 'd');
  ASSERT_TRUE((*file)->WriteAt(4096, block, sizeof block).ok());
  std::fill(std::begin(block), std::end(block), ' ');
  ASSERT_EQ((*file)->ReadAt(4096, block, sizeof block).value(), sizeof block);
  EXPECT_EQ(block[8191], 'd');
}

template <typename Body>
[[noreturn]] void RunWithFileSizeLimit(rlim_t bytes, Body body) {
  struct rlimit limit;
  limit.rlim_cur = limit.rlim_max = bytes;
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(90);
  body();
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

// In a child, because the limit would hold for the tests after this one.
template <typename Body>
void ExpectInChildWithFileSizeLimit(rlim_t bytes, Body body) {
  EXPECT_EXIT(RunWithFileSizeLimit(bytes, body), testing::ExitedWithCode(0), "");
}

TEST_F(PlatformTest, TheFileSizeLimitIsNoSpaceAndKillsNobody) {
  std::unique_ptr<File> file = MakeFile("file");
  const std::string bytes(20000, 'x');
  ExpectInChildWithFileSizeLimit(10000, [&] {
    const auto try_all = [&] {
      EXPECT_EQ(file->WriteAt(0, bytes.data(), bytes.size()).code(), Code::kNoSpace);
      EXPECT_EQ(file->WriteAt(10000, bytes.data(), 1).sys_errno(), EFBIG);
      EXPECT_EQ(file->Truncate(20000).code(), Code::kNoSpace);
      EXPECT_EQ(file->Allocate(Preallocation::kSparse, 0, 20000).code(), Code::kNoSpace);
      const Status status = file->Allocate(Preallocation::kFallocate, 0, 20000);
      EXPECT_TRUE(status.code() == Code::kNoSpace || status.code() == Code::kUnsupported);
      EXPECT_TRUE(file->WriteAt(0, bytes.data(), 9000).ok());
    };
    try_all();
    std::thread(try_all).join();
  });
}

TEST_F(PlatformTest, TheFileSizeLimitIsNoSpaceForADirectWriteAsWell) {
  if (!folder_->Probe()->direct_io) GTEST_SKIP() << "no direct I/O here";
  MakeFile("file");
  Result<std::unique_ptr<File>> file = folder_->Open("file", OpenMode::kDirect);
  ASSERT_TRUE(file.ok());
  alignas(4096) static char block[16384];
  for (const rlim_t limit : {4096, 5000, 5120, 100}) {
    ExpectInChildWithFileSizeLimit(limit, [&] {
      EXPECT_EQ((*file)->WriteAt(0, block, sizeof block).code(), Code::kNoSpace) << limit;
    });
  }
}

TEST_F(PlatformTest, TheProbeKnowsTheFileSystemAndLeavesNothingBehind) {
  Result<Capabilities> found = folder_->Probe();
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->file_system.empty());
  EXPECT_GE(found->direct_alignment, 4096u);
  EXPECT_EQ(found->map_alignment, static_cast<uint32_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_TRUE(folder_->List()->empty());
  EXPECT_EQ(MakeFile("file")->SetExtentSizeHint(1 << 20).code(),
            found->file_system == "xfs" ? Code::kOk : Code::kUnsupported);
}

TEST(PlatformSystemTest, TheClockIsTheWallClock) {
  const int64_t now_s = static_cast<int64_t>(DefaultFileSystem().NowMs() / 1000);
  EXPECT_LE(std::abs(now_s - static_cast<int64_t>(time(nullptr))), 2);
}

TEST(PlatformSystemTest, RandomNumbersDiffer) {
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(DefaultFileSystem().Random64());
  EXPECT_EQ(seen.size(), 1000u);
}

}  // namespace
}  // namespace durlog
