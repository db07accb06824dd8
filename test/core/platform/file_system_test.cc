// Folders, files and the probe. Maps and locks are tested in separate files.

#include "platform/file_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "platform_test_folder.h"

namespace durlog {
namespace {

TEST_F(PlatformTest, AMissingFolderStaysMissing) {
  EXPECT_EQ(OpenFolderCode(PathOf("none"), false), Code::kNotFound);
  EXPECT_EQ(OpenFolderCode(PathOf("none"), false), Code::kNotFound);
}

TEST_F(PlatformTest, AFileIsNoLogFolder) {
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
  for (const OpenMode mode :
       {OpenMode::kRead, OpenMode::kReadWrite, OpenMode::kDirect, OpenMode::kDirectUnsynced}) {
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

TEST_F(PlatformTest, AFolderIsNoLogFile) {
  ASSERT_TRUE(std::filesystem::create_directory(PathOf("sub")));
  EXPECT_EQ(folder_->Open("sub", OpenMode::kRead).status().code(), Code::kNotALog);
  EXPECT_EQ(folder_->Open("sub", OpenMode::kReadWrite).status().code(), Code::kNotALog);
}

TEST_F(PlatformTest, ListNamesAllAndMarksRegularFiles) {
  MakeFile("file");
  ASSERT_TRUE(std::filesystem::create_directory(PathOf("sub")));
  for (int round = 0; round < 2; ++round) {
    Result<std::vector<FileEntry>> entries = folder_->List();
    ASSERT_TRUE(entries.ok());
    std::set<std::string> names, regular;
    for (const FileEntry& entry : *entries) {
      names.insert(entry.name);
      if (entry.is_regular) regular.insert(entry.name);
    }
    EXPECT_EQ(names, (std::set<std::string>{"file", "sub"}));
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

TEST_F(PlatformTest, AnOpenFileOutlivesItsName) {
  std::unique_ptr<File> file = MakeFile("before");
  ASSERT_TRUE(file->WriteAt(0, "data", 4).ok());
  ASSERT_TRUE(folder_->Rename("before", "after").ok());
  EXPECT_TRUE(file->SyncFull().ok());
  ASSERT_TRUE(folder_->Remove("after").ok());
  char read[4] = {};
  EXPECT_EQ(file->ReadAt(0, read, sizeof read).value(), 4u);
  EXPECT_EQ(std::string(read, 4), "data");
}

TEST_F(PlatformTest, RemovingAnOpenFileFreesItsName) {
  const std::unique_ptr<File> removed = MakeFile("name", 5);
  ASSERT_TRUE(folder_->Remove("name").ok());
  EXPECT_EQ(folder_->Open("name", OpenMode::kRead).status().code(), Code::kNotFound);
  MakeFile("other", 3);
  ASSERT_TRUE(folder_->Rename("other", "name").ok());
  Result<std::unique_ptr<File>> file = folder_->Open("name", OpenMode::kRead);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ((*file)->Size().value(), 3u);
}

TEST_F(PlatformTest, ALockIsRefusedUntilTheFirstEnds) {
  Result<std::unique_ptr<FileLock>> first = folder_->Lock("lock");
  ASSERT_TRUE(first.ok());
  const Status refused = folder_->Lock("lock").TakeStatus();
  EXPECT_EQ(refused.code(), Code::kLocked);
  EXPECT_GT(refused.owner_pid(), 0);
  first.value().reset();
  EXPECT_TRUE(folder_->Lock("lock").ok());
}

TEST_F(PlatformTest, AReadAtTheEndIsShort) {
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
  EXPECT_NE(status.sys_errno(), 0);
  EXPECT_STRNE(status.operation(), "");
  EXPECT_EQ(status.path(), PathOf("file"));
  EXPECT_EQ(status.offset(), 4096);
}

TEST_F(PlatformTest, AClosedFileFailsAndClosesAgain) {
  std::unique_ptr<File> file = MakeFile("file");
  EXPECT_TRUE(file->Close().ok());
  EXPECT_TRUE(file->Close().ok());
  EXPECT_EQ(file->WriteAt(0, "x", 1).sys_errno(), EBADF);
  EXPECT_EQ(file->SyncData().sys_errno(), EBADF);
}

TEST_F(PlatformTest, NoAllocationCutsAFile) {
  std::unique_ptr<File> file = MakeFile("file", 10000);
  for (const bool zeroes : {false, true}) {
    const Status status = zeroes ? file->ZeroRange(0, 4096) : file->Allocate(0, 4096);
    EXPECT_TRUE(status.ok() || status.code() == Code::kUnsupported);
    EXPECT_EQ(file->Size().value(), 10000u);
  }
}

TEST_F(PlatformTest, ADirectWriteIsReadBack) {
  if (!folder_->Probe()->direct_io) GTEST_SKIP() << "no direct I/O here";
  MakeFile("file", 16384);
  for (const OpenMode mode : {OpenMode::kDirect, OpenMode::kDirectUnsynced}) {
    Result<std::unique_ptr<File>> file = folder_->Open("file", mode);
    ASSERT_TRUE(file.ok());
    const char byte = mode == OpenMode::kDirect ? 'd' : 'u';
    alignas(4096) static char block[8192];
    std::fill(std::begin(block), std::end(block), byte);
    ASSERT_TRUE((*file)->WriteAt(4096, block, sizeof block).ok());
    ASSERT_TRUE((*file)->SyncFull().ok());
    std::fill(std::begin(block), std::end(block), ' ');
    ASSERT_EQ((*file)->ReadAt(4096, block, sizeof block).value(), sizeof block);
    EXPECT_EQ(block[8191], byte);
  }
}

TEST_F(PlatformTest, TheProbeLeavesNothingBehind) {
  Result<Capabilities> found = folder_->Probe();
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->file_system.empty());
  EXPECT_GE(found->direct_alignment, 4096u);
  EXPECT_GE(found->map_alignment, 4096u);
  EXPECT_TRUE(folder_->List()->empty());
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
