// What only POSIX systems have: modes, links, FIFOs, limits and blocks.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "platform/file_system.h"
#include "platform_test_folder.h"

namespace durlog {
namespace {

using PlatformPosixTest = PlatformTest;

unsigned ModeOf(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777u : 0;
}

TEST_F(PlatformPosixTest, NewParentFoldersAreTheOwnersOnly) {
  const mode_t old_mask = umask(0);
  EXPECT_EQ(OpenFolderCode(PathOf("a/b//c///"), true), Code::kOk);
  umask(old_mask);
  for (const char* name : {"a", "a/b", "a/b/c"}) EXPECT_EQ(ModeOf(PathOf(name)), 0700u) << name;
  EXPECT_EQ(OpenFolderCode(PathOf("a/b/c"), true), Code::kOk);
}

TEST_F(PlatformPosixTest, AFailedSyncOfAFolderIsReported) {
  // The kernel refuses to sync a folder of procfs.
  auto unsyncable = DefaultFileSystem().OpenDirectory("/proc", false);
  if (!unsyncable.ok()) GTEST_SKIP() << "no /proc";
  EXPECT_FALSE((*unsyncable)->Sync().ok());
  EXPECT_TRUE(folder_->Sync().ok());
}

TEST_F(PlatformPosixTest, ANewFileTakesTheModeOfTheSegments) {
  MakeFile("first");
  EXPECT_EQ(ModeOf(PathOf("first")), 0600u);
  MakeFile("00000000000000000000.seg");
  MakeFile("00000000000000001000.seg");
  for (const char* name : {"00000000000000000000.seg", "00000000000000001000.seg"})
    ASSERT_EQ(chmod(PathOf(name).c_str(), 0640), 0);
  const mode_t old_mask = umask(0077);
  MakeFile("second");
  const Result<std::unique_ptr<FileLock>> lock = folder_->Lock("lock");
  umask(old_mask);
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(ModeOf(PathOf("second")), 0640u);
  EXPECT_EQ(ModeOf(PathOf("lock")), 0640u);
  EXPECT_EQ(ModeOf(PathOf("first")), 0600u);
}

TEST_F(PlatformPosixTest, ANewFileOfRootBelongsToTheOwnerOfTheFolderOrOfItsSegments) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give a file to another user";
  const auto owner_of = [this](const char* name) {
    struct stat info;
    return stat(PathOf(name).c_str(), &info) == 0 ? std::make_pair(info.st_uid, info.st_gid)
                                                  : std::make_pair(uid_t{0}, gid_t{0});
  };
  ASSERT_EQ(chown(root_.c_str(), 12345, 12346), 0);
  MakeFile("00000000000000000000.seg");
  EXPECT_EQ(owner_of("00000000000000000000.seg"), std::make_pair(uid_t{12345}, gid_t{12346}));
  ASSERT_EQ(chown(PathOf("00000000000000000000.seg").c_str(), 777, 778), 0);
  MakeFile("live");
  ASSERT_TRUE(folder_->Lock("lock").ok());
  EXPECT_EQ(owner_of("live"), std::make_pair(uid_t{777}, gid_t{778}));
  EXPECT_EQ(owner_of("lock"), std::make_pair(uid_t{777}, gid_t{778}));
}

TEST_F(PlatformPosixTest, ASymbolicLinkIsNeverFollowed) {
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
  std::set<std::string> regular;
  const Result<std::vector<FileEntry>> entries = folder_->List();
  ASSERT_TRUE(entries.ok());
  for (const FileEntry& entry : *entries) {
    if (entry.is_regular) regular.insert(entry.name);
  }
  EXPECT_EQ(regular, (std::set<std::string>{"target"}));
}

TEST_F(PlatformPosixTest, AFifoIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(mkfifo(PathOf("fifo").c_str(), 0600), 0);
  EXPECT_EQ(folder_->Open("fifo", OpenMode::kRead).status().code(), Code::kNotALog);
}

#ifdef __linux__
TEST_F(PlatformPosixTest, AFileInMemoryIsOpenedWithoutTheDevice) {
  MakeFile("file", 10);
  ASSERT_EQ(symlink("file", PathOf("link").c_str()), 0);
  ASSERT_EQ(mkfifo(PathOf("fifo").c_str(), 0600), 0);
  const std::unique_ptr<File> file = folder_->OpenCached("file");
  ASSERT_TRUE(file) << "needs openat2() with RESOLVE_CACHED, of Linux 5.12";
  EXPECT_EQ(file->Size().value(), 10u);
  for (const char* const name : {"link", "fifo", "missing", ".", "../file"}) {
    EXPECT_FALSE(folder_->OpenCached(name)) << name;
  }
}
#endif

TEST_F(PlatformPosixTest, FilesAreForTheOwnerOnly) {
  const mode_t old_mask = umask(0);
  MakeFile("segment");
  EXPECT_TRUE(folder_->Lock("lock").ok());
  umask(old_mask);
  EXPECT_EQ(ModeOf(PathOf("segment")), 0600u);
  EXPECT_EQ(ModeOf(PathOf("lock")), 0600u);
}

TEST_F(PlatformPosixTest, AMovedFolderIsTheSameFolder) {
  ASSERT_EQ(OpenFolderCode(PathOf("before"), true), Code::kOk);
  auto folder = DefaultFileSystem().OpenDirectory(PathOf("before"), false);
  ASSERT_EQ(rename(PathOf("before").c_str(), PathOf("after").c_str()), 0);
  EXPECT_TRUE((*folder)->Open("file", OpenMode::kCreateNew).ok());
  EXPECT_EQ(access(PathOf("after/file").c_str(), F_OK), 0);
}

uint64_t AllocatedBytes(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_blocks) * 512 : 0;
}

TEST_F(PlatformPosixTest, AllocatedBlocksAndZeroedRangesTakeSpaceAndReadAsZeros) {
  constexpr uint64_t kBytes = 1 << 20;
  for (const bool zeroes : {false, true}) {
    const std::string name = zeroes ? "zeroed" : "allocated";
    std::unique_ptr<File> file = MakeFile(name);
    ASSERT_TRUE(file->WriteAt(0, "xy", 2).ok());
    const Status status = zeroes ? file->ZeroRange(1, kBytes - 1) : file->Allocate(1, kBytes - 1);
    if (status.code() == Code::kUnsupported) continue;
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(file->Size().value(), kBytes) << name;
    EXPECT_GE(AllocatedBytes(PathOf(name)), kBytes) << name;
    char bytes[3] = {'?', '?', '?'};
    ASSERT_EQ(file->ReadAt(0, bytes, sizeof bytes).value(), sizeof bytes);
    EXPECT_EQ(std::string(bytes, 3), zeroes ? std::string("x\0\0", 3) : std::string("xy\0", 3));
  }
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

TEST_F(PlatformPosixTest, TheFileSizeLimitIsNoSpace) {
  std::unique_ptr<File> file = MakeFile("file");
  const std::string bytes(20000, 'x');
  ExpectInChildWithFileSizeLimit(10000, [&] {
    const auto try_all = [&] {
      EXPECT_EQ(file->WriteAt(0, bytes.data(), bytes.size()).code(), Code::kNoSpace);
      EXPECT_EQ(file->WriteAt(10000, bytes.data(), 1).sys_errno(), EFBIG);
      EXPECT_EQ(file->Truncate(20000).code(), Code::kNoSpace);
      const Status status = file->Allocate(0, 20000);
      EXPECT_TRUE(status.code() == Code::kNoSpace || status.code() == Code::kUnsupported);
      EXPECT_TRUE(file->WriteAt(0, bytes.data(), 9000).ok());
    };
    try_all();
    std::thread(try_all).join();
  });
}

TEST_F(PlatformPosixTest, ADirectWriteMeetsTheFileSizeLimit) {
  if (!folder_->Probe()->direct_io) GTEST_SKIP() << "no direct I/O here";
  MakeFile("file");
  Result<std::unique_ptr<File>> file = folder_->Open("file", OpenMode::kDirect);
  ASSERT_TRUE(file.ok());
  alignas(4096) static char block[16384];
  for (const rlim_t limit : {4096u, 5000u, 5120u, 100u}) {
    ExpectInChildWithFileSizeLimit(limit, [&] {
      EXPECT_EQ((*file)->WriteAt(0, block, sizeof block).code(), Code::kNoSpace) << limit;
    });
  }
}

}  // namespace
}  // namespace durlog
