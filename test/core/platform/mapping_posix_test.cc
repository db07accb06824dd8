// A process whose store hits a page that the kernel cannot provide.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "platform/file_system.h"
#include "platform/posix_fault_guard.h"
#include "platform/posix_memory.h"
#include "platform_test_folder.h"

namespace durlog {
namespace {

constexpr size_t kMapBytes = 64 << 10;

class PlatformMappingPosixTest : public PlatformTest {
 protected:
  void SetUp() override {
    file_ = MakeFile("file", kMapBytes);
    Result<std::unique_ptr<Mapping>> map = file_->Map(0, kMapBytes);
    ASSERT_TRUE(map.ok()) << map.status().message();
    map_ = std::move(map.value());
  }

  // What another process does to us.
  void TruncateBehindTheMap(off_t size) { ASSERT_EQ(truncate(PathOf("file").c_str(), size), 0); }

  std::unique_ptr<File> file_;
  std::unique_ptr<Mapping> map_;
};

// A store and a load that no compiler leaves out and that threads may do at the same time.
void StoreByte(uint8_t* to, uint8_t value) {
  reinterpret_cast<volatile std::atomic<uint8_t>*>(to)->store(value, std::memory_order_relaxed);
}
uint8_t LoadByte(uint8_t* from) {
  return reinterpret_cast<volatile std::atomic<uint8_t>*>(from)->load(std::memory_order_relaxed);
}

TEST_F(PlatformMappingPosixTest, PopulateMakesPagesPresent) {
  std::unique_ptr<File> sparse = MakeFile("sparse");
  ASSERT_TRUE(sparse->Truncate(kMapBytes).ok());
  Result<std::unique_ptr<Mapping>> map = sparse->Map(0, kMapBytes);
  ASSERT_TRUE(map.ok());
  ASSERT_TRUE((*map)->Populate(1, kMapBytes - 2).ok());
  std::vector<unsigned char> present(kMapBytes / PageBytes());
  ASSERT_EQ(mincore((*map)->data(), kMapBytes, present.data()), 0);
  for (const unsigned char page : present) EXPECT_EQ(page & 1, 1);
}

TEST_F(PlatformMappingPosixTest, AStorePastTheEndRaisesTheFlag) {
  StoreByte(map_->data(), 1);
  TruncateBehindTheMap(4096);
  EXPECT_FALSE(map_->faulted());
  StoreByte(map_->data() + 40000, 1);
  StoreByte(map_->data() + 40000, 2);
  EXPECT_TRUE(map_->faulted());
  StoreByte(map_->data() + 60000, 3);
  EXPECT_EQ(map_->data()[60000], 3);
}

TEST_F(PlatformMappingPosixTest, ALoadPastTheEndRaisesTheFlag) {
  TruncateBehindTheMap(0);
  EXPECT_EQ(LoadByte(map_->data() + 100), 0);
  EXPECT_TRUE(map_->faulted());
}

TEST_F(PlatformMappingPosixTest, AFaultedMapNeverSyncsOrPopulatesWell) {
  TruncateBehindTheMap(4096);
  StoreByte(map_->data() + 8192, 1);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(map_->Sync(8192, 1).code(), Code::kIo);
    EXPECT_EQ(map_->Sync(0, 1).code(), Code::kIo);
    EXPECT_EQ(map_->Populate(8192, 1).code(), Code::kIo);
  }
}

TEST_F(PlatformMappingPosixTest, APageThatCannotBeHadIsAnIoError) {
  TruncateBehindTheMap(4096);
  const Status populated = map_->Populate(8192, 1);
  EXPECT_EQ(populated.sys_errno(), EIO) << populated.message();
}

TEST_F(PlatformMappingPosixTest, AFaultStaysInItsMap) {
  std::unique_ptr<File> other_file = MakeFile("other", kMapBytes);
  Result<std::unique_ptr<Mapping>> other = other_file->Map(0, kMapBytes);
  ASSERT_TRUE(other.ok());
  TruncateBehindTheMap(0);
  StoreByte(map_->data(), 1);
  EXPECT_TRUE(map_->faulted());
  EXPECT_FALSE((*other)->faulted());
  StoreByte((*other)->data(), 7);
  EXPECT_TRUE((*other)->Sync(0, 1).ok());
}

TEST_F(PlatformMappingPosixTest, PopulateBehindATruncationIsAnError) {
  TruncateBehindTheMap(4096);
  const Status status = map_->Populate(0, kMapBytes);
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_EQ(status.path(), PathOf("file"));
}

TEST_F(PlatformMappingPosixTest, TouchingBehindATruncationIsAnError) {
  Result<FaultGuard> guard = FaultGuard::Watch(map_->data(), 0);
  ASSERT_TRUE(guard.ok());
  void* raw = mmap(nullptr, kMapBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                   open(PathOf("file").c_str(), O_RDWR | O_CLOEXEC), 0);
  ASSERT_NE(raw, MAP_FAILED);
  *guard = std::move(FaultGuard::Watch(raw, kMapBytes).value());
  uint8_t* const start = static_cast<uint8_t*>(raw);
  EXPECT_TRUE(TouchPages(start, kMapBytes, *guard, "file").ok());
  TruncateBehindTheMap(4096);
  EXPECT_EQ(TouchPages(start, kMapBytes, *guard, "file").code(), Code::kIo);
  guard->Release();
  munmap(raw, kMapBytes);
}

// Stores rising numbers into the bytes that populating touches, and counts those that have vanished
// by the next time round: looking at once would only meet the processor's own store buffer.
void StoreWhile(uint8_t* start, const std::atomic<bool>& running, std::atomic<uint64_t>* lost) {
  for (uint8_t number = 0; running.load(); ++number) {
    for (size_t at = 0; at < kMapBytes; at += PageBytes()) {
      const uint8_t before = static_cast<uint8_t>(number - 1);
      if (number != 0 && LoadByte(start + at) != before) ++*lost;
      StoreByte(start + at, number);
    }
  }
}

TEST_F(PlatformMappingPosixTest, PopulateKeepsConcurrentStores) {
  Result<FaultGuard> guard = FaultGuard::Watch(map_->data(), kMapBytes);
  ASSERT_TRUE(guard.ok());
  std::atomic<bool> running{true};
  std::atomic<uint64_t> lost{0};
  std::thread writer([&] { StoreWhile(map_->data(), running, &lost); });
  bool all_well = true;
  for (int round = 0; round < 100000; ++round) {
    all_well = all_well && TouchPages(map_->data(), kMapBytes, *guard, "file").ok();
    if (round % 100 == 0) all_well = all_well && map_->Populate(0, kMapBytes).ok();
  }
  running = false;
  writer.join();
  EXPECT_TRUE(all_well);
  EXPECT_EQ(lost.load(), 0u);
}

TEST_F(PlatformMappingPosixTest, UnmappingTakesTheDeadPagesAway) {
  TruncateBehindTheMap(0);
  uint8_t* const start = map_->data();
  StoreByte(start + 8192, 1);
  map_.reset();
  unsigned char present[kMapBytes / 4096];
  EXPECT_EQ(mincore(start + 8192, 1, present), -1);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(PlatformMappingPosixTest, ClosingMapsHelpsWhereTooMany) {
  std::vector<std::unique_ptr<Mapping>> maps;
  Status status;
  while (maps.size() <= FaultGuard::kCapacity) {
    Result<std::unique_ptr<Mapping>> map = file_->Map(0, 4096);
    if (!map.ok()) {
      status = map.TakeStatus();
      break;
    }
    maps.push_back(std::move(map.value()));
  }
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_EQ(maps.size(), FaultGuard::kCapacity - 1);  // map_ has the other
  maps.pop_back();
  EXPECT_TRUE(file_->Map(0, 4096).ok());
}

TEST_F(PlatformMappingPosixTest, FaultsOnManyThreadsAllLive) {
  TruncateBehindTheMap(0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (size_t at = 0; at < kMapBytes; at += 512) StoreByte(map_->data() + at, 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(map_->faulted());
}

TEST_F(PlatformMappingPosixTest, FaultsOnManyThreadsFindTheirMap) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      const std::string name = "own" + std::to_string(i);
      std::unique_ptr<File> file = MakeFile(name, 8192);
      for (int round = 0; round < 200; ++round) {
        ASSERT_TRUE(file->Truncate(8192).ok());
        std::unique_ptr<Mapping> map = std::move(file->Map(0, 8192).value());
        StoreByte(map->data() + 4096, 1);
        ASSERT_FALSE(map->faulted());
        ASSERT_TRUE(file->Truncate(4096).ok());
        StoreByte(map->data() + 4096, 1);
        ASSERT_TRUE(map->faulted());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// An anonymous map that the fault guard does not watch.
void FaultOutsideOfAnyMapping(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* raw = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  StoreByte(static_cast<uint8_t*>(raw), 1);
}

// By the signal, or by a sanitizer's handler for it, which reports and exits with an error.
struct DiedOf {
  int signal;
  bool operator()(int status) const {
    return WIFSIGNALED(status) ? WTERMSIG(status) == signal
                               : WIFEXITED(status) && WEXITSTATUS(status) != 0;
  }
};

using PlatformMappingDeathTest = PlatformMappingPosixTest;

TEST_F(PlatformMappingDeathTest, AForeignBusErrorStillKills) {
  EXPECT_EXIT(FaultOutsideOfAnyMapping(PathOf("empty")), DiedOf{SIGBUS}, "");
}

TEST_F(PlatformMappingDeathTest, ABusErrorThatWasSentStillKills) {
  EXPECT_EXIT(raise(SIGBUS), DiedOf{SIGBUS}, "");
}

TEST_F(PlatformMappingDeathTest, AStoreAfterUnmappingStillKills) {
  EXPECT_EXIT(
      {
        uint8_t* const start = map_->data();
        map_.reset();
        StoreByte(start, 1);
      },
      DiedOf{SIGSEGV}, "");
}

void ExitWithOwnCode(int, siginfo_t* info, void*) { _exit(info->si_addr != nullptr ? 42 : 41); }

// Must run before the process makes any map; the death-test style below starts a new process.
TEST(PlatformFaultChainDeathTest, AForeignBusErrorReachesTheEarlierHandler) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        struct sigaction own = {};
        own.sa_sigaction = ExitWithOwnCode;
        own.sa_flags = SA_SIGINFO;
        sigaction(SIGBUS, &own, nullptr);
        char path[] = "/tmp/durlog-chain-XXXXXX";
        const int fd = mkstemp(path);
        if (fd < 0 || ftruncate(fd, 4096) != 0) _exit(1);
        void* watched = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        Result<FaultGuard> guard = FaultGuard::Watch(watched, 4096);
        if (!guard.ok() || ftruncate(fd, 0) != 0 || unlink(path) != 0) _exit(2);
        StoreByte(static_cast<uint8_t*>(watched), 1);
        if (!guard->faulted()) _exit(3);
        void* foreign = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        StoreByte(static_cast<uint8_t*>(foreign), 1);
      },
      testing::ExitedWithCode(42), "");
}

// A file system of 256 KiB that only this child sees, mounted over the test's folder.
bool MountSmallDisk(const std::string& path) {
  return unshare(CLONE_NEWNS) == 0 &&
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("durlog", path.c_str(), "tmpfs", 0, "size=256k") == 0;
}

constexpr int kCannotMount = 77;

void FillTheDisk(const std::string& path) {
  if (!MountSmallDisk(path)) _exit(kCannotMount);
  std::unique_ptr<Directory> disk =
      std::move(DefaultFileSystem().OpenDirectory(path, false).value());
  std::unique_ptr<File> sparse = std::move(disk->Open("sparse", OpenMode::kCreateNew).value());
  EXPECT_TRUE(sparse->Truncate(1 << 20).ok());
  std::unique_ptr<Mapping> map = std::move(sparse->Map(0, 1 << 20).value());
  std::unique_ptr<File> filler = std::move(disk->Open("filler", OpenMode::kCreateNew).value());
  const std::string bytes(1 << 20, 'x');
  EXPECT_EQ(filler->Allocate(0, 1 << 20).code(), Code::kNoSpace);
  const Status status = filler->WriteAt(0, bytes.data(), bytes.size());
  EXPECT_EQ(status.code(), Code::kNoSpace);
  EXPECT_GT(status.offset(), 0);
  EXPECT_FALSE(map->Populate(0, 1 << 20).ok());
  StoreByte(map->data() + 500000, 1);
  EXPECT_TRUE(map->faulted());
  EXPECT_FALSE(map->Sync(0, 1 << 20).ok());
  EXPECT_TRUE(disk->Lock("lock").ok());
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST_F(PlatformMappingDeathTest, WritesAndMapsReportAFullDisk) {
  int code = -1;
  EXPECT_EXIT(
      FillTheDisk(root_),
      [&code](int status) {
        code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        return code == 0 || code == kCannotMount;
      },
      "");
  if (code == kCannotMount) GTEST_SKIP() << "mounting needs privileges";
}

}  // namespace
}  // namespace durlog
