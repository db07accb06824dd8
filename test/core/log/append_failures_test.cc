// Appends that fail for lack of a resource must leave nothing in the log.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "inspect/verify.h"
#include "log_test_folder.h"
#include "memory_file_system.h"
#include "observed_file_system.h"

#ifndef _WIN32
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "platform/posix_fd.h"
#endif

namespace durlog {
namespace {

class AppendFailuresTest : public LogTestFolder, public testing::WithParamInterface<Strategy> {
 protected:
  LogOptions Options() const { return SmallOptions(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Strategies, AppendFailuresTest,
                         testing::Values(Strategy::kAuto, Strategy::kMmap, Strategy::kPwrite,
                                         Strategy::kDirect),
                         NameOfStrategy);

// Refuses one allocation of an AlignedBuffer, on whichever thread, until the end of the scope.
class RefusedAllocation {
 public:
  explicit RefusedAllocation(int nth) {
    countdown_ = nth;
    AlignedBuffer::refusal_for_tests = [](size_t) { return --countdown_ == 0; };
  }
  ~RefusedAllocation() { AlignedBuffer::refusal_for_tests = nullptr; }
  static bool struck() { return countdown_ <= 0; }

 private:
  static inline std::atomic<int> countdown_{0};
};

TEST_P(AppendFailuresTest, WithoutMemoryAnAppendIsWholeOrAbsent) {
  bool struck = true;
  for (int nth = 1; struck; ++nth) {
    ASSERT_LT(nth, 200);
    std::filesystem::remove_all(PathOf("log"));
    LogOptions options = Options();
    options.segment_bytes = 256 << 10;
    options.max_record_bytes = 64 << 10;
    std::unique_ptr<Log> log = Open(options);
    std::vector<std::string> stored;
    int refused = 0;
    {
      const RefusedAllocation refusal(nth);
      for (int round = 0; round < 6; ++round) {
        // Longer than a mapped chunk, and three of them longer than the least buffer, so that
        // memory runs out in the middle of a batch; what fits anywhere.
        for (const size_t longest : {size_t{50000}, size_t{9000}, size_t{50}}) {
          std::vector<std::string> payloads;
          std::vector<PayloadParts> bytes;
          for (size_t i = 0; i < 3; ++i) {
            payloads.emplace_back(longest + i, static_cast<char>('a' + round));
          }
          for (const std::string& payload : payloads) bytes.push_back(AsBytes(payload));
          const uint64_t before = log->next_seq();
          Result<uint64_t> first = log->AppendBatch(bytes.data(), bytes.size(), Level::kMemory);
          while (!first.ok() && first.status().code() == Code::kBackpressure) {
            Settle(*log);
            first = log->AppendBatch(bytes.data(), bytes.size(), Level::kMemory);
          }
          if (first.ok()) {
            EXPECT_EQ(*first, stored.size());
            stored.insert(stored.end(), payloads.begin(), payloads.end());
          } else {
            EXPECT_EQ(first.status().code(), Code::kOutOfMemory) << first.status().message();
            EXPECT_EQ(log->next_seq(), before);
            ++refused;
          }
          const Result<uint64_t> one = Append(*log, payloads[1], Level::kSync);
          if (one.ok()) {
            EXPECT_EQ(*one, stored.size());
            stored.push_back(payloads[1]);
          } else {
            EXPECT_EQ(one.status().code(), Code::kOutOfMemory) << one.status().message();
            ++refused;
          }
        }
        Settle(*log);
      }
      struck = RefusedAllocation::struck();
    }
    EXPECT_LE(refused, 1);
    EXPECT_FALSE(log->latched());
    EXPECT_TRUE(listener_.failures.empty());
    ASSERT_TRUE(Append(*log, "last", Level::kSync).ok());
    stored.push_back("last");
    Close(std::move(log));
    EXPECT_EQ(ReadFrom(0), stored) << nth;
  }
}

// Opens no file while `none`.
Observer RefusingOpens(const std::atomic<bool>* none) {
  return [none](const ObservedCall& call) {
    return *none && call.call == "open" ? Status::System("openat", EMFILE, call.name)
                                        : Status::Ok();
  };
}

#ifndef _WIN32
// This process may open no file until the end of the scope.
class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest_free = open("/", O_RDONLY | O_CLOEXEC);
    close(lowest_free);
    struct rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(lowest_free);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~NoMoreDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  struct rlimit before_;
};

// The reserve serves the next segment, and each sealed segment serves one of the following.
TEST_P(AppendFailuresTest, WithoutFreeDescriptorsALogContinues) {
  std::unique_ptr<Log> log = Open(Options());
  AppendMany(*log, 10, Level::kSync);
  Settle(*log);
  {
    const NoMoreDescriptors none;
    for (uint64_t seq = log->next_seq(); seq < 800; ++seq) {
      const Result<uint64_t> appended = log->AppendSync(AsBytes(PayloadOf(seq)), Level::kSync);
      ASSERT_TRUE(appended.ok()) << seq << ": " << appended.status().message();
    }
    Settle(*log);
  }
  EXPECT_GE(log->Stats().rotations, 3u);
  EXPECT_TRUE(listener_.failures.empty());
  Close(std::move(log));
  ExpectRecords(0, 800);
}

// As if a server that accepts connections took each descriptor that becomes free.
TEST_P(AppendFailuresTest, ADescriptorOfASealedSegmentIsNeverFree) {
  std::unique_ptr<Log> log = Open(Options());
  AppendMany(*log, 10, Level::kSync);
  Settle(*log);
  {
    const NoMoreDescriptors none;
    std::vector<ScopedFd> taken;
    for (uint64_t seq = log->next_seq(); seq < 800; ++seq) {
      const Result<uint64_t> appended = log->AppendSync(AsBytes(PayloadOf(seq)), Level::kSync);
      EXPECT_TRUE(appended.ok()) << seq << ": " << appended.status().message();
      if (!appended.ok()) break;
      Settle(*log);
      ScopedFd accepted(open("/", O_RDONLY | O_CLOEXEC));
      if (accepted.valid()) taken.push_back(std::move(accepted));
    }
  }
  EXPECT_GE(log->Stats().rotations, 3u);
  Close(std::move(log));
  ExpectRecords(0, 800);
}

TEST_F(LogTestFolder, AMappedSegmentNeedsNoFurtherDescriptor) {
  LogOptions options = SmallOptions(Strategy::kMmap);
  options.segment_bytes = 1 << 20;
  std::unique_ptr<Log> log = Open(options);
  if (log->Stats().mode != WriteMode::kMmap) GTEST_SKIP() << "the file system allows no map";
  AppendMany(*log, 1, Level::kSync);
  {
    const NoMoreDescriptors none;
    // Far beyond the chunk of 16 KiB that is mapped first; each third record requests a sync.
    for (uint64_t i = 0; i < 900; ++i) {
      AppendMany(*log, 1, i % 3 == 0 ? Level::kSync : Level::kMemory);
    }
    Settle(*log);
  }
  EXPECT_EQ(log->Stats().rotations, 0u);
  EXPECT_TRUE(listener_.failures.empty());
  Close(std::move(log));
  ExpectRecords(0, 901);
}

#endif

TEST_P(AppendFailuresTest, ALogOutlivesALackOfDescriptors) {
  std::atomic<bool> none{false};
  ObservedFileSystem files(RefusingOpens(&none));
  std::unique_ptr<Log> log = Open(Options(), files);
  AppendMany(*log, 10, Level::kSync);
  Settle(*log);
  none = true;
  Status refused;
  while (refused.ok() && log->next_seq() < 1000) {
    const std::string payload = PayloadOf(log->next_seq());
    refused = log->AppendSync(AsBytes(payload), Level::kSync).status();
  }
  none = false;
  EXPECT_EQ(refused.code(), Code::kTooManyFiles) << refused.message();
  EXPECT_FALSE(log->latched());
  for (const Failure& failure : listener_.failures) EXPECT_FALSE(failure.latched);
  const uint64_t end = log->next_seq();
  EXPECT_EQ(log->ReachedEnd(Level::kSync), end);
  AppendMany(*log, 200, Level::kSync);
  Close(std::move(log));
  log = Open(Options());
  EXPECT_EQ(log->recovery().state, RecoveryState::kClean);
  EXPECT_EQ(log->next_seq(), end + 200);
  Close(std::move(log));
  ExpectRecords(0, end + 200);
}

TEST_P(AppendFailuresTest, ARefusedTruncationChangesNothing) {
  std::atomic<bool> none{false};
  ObservedFileSystem files(RefusingOpens(&none));
  std::unique_ptr<Log> log = Open(Options(), files);
  AppendMany(*log, 300, Level::kSync);
  Settle(*log);
  {
    const Result<std::shared_ptr<TruncateJob>> job = log->BeginTruncate(100);
    ASSERT_TRUE(job.ok()) << job.status().message();
    none = true;
    (*job)->RunOnce();
    none = false;
    EXPECT_EQ(log->FinishTruncate(**job).code(), Code::kTooManyFiles);
  }
  EXPECT_FALSE(log->latched());
  EXPECT_EQ(log->next_seq(), 300u);
  AppendMany(*log, 10, Level::kSync);
  Close(std::move(log));
  ExpectRecords(0, 310);
}

TEST_P(AppendFailuresTest, AWriteWithoutMemoryIsRefusedAndUndone) {
  std::atomic<int> left{0};  // until a write of a segment fails
  ObservedFileSystem files([&left](const ObservedCall& call) {
    const bool writes =
        call.call.rfind("write", 0) == 0 && call.name.find(".seg") != std::string::npos;
    if (!writes || --left != 0) return Status::Ok();
    return Status::System("pwrite", ENOMEM, call.name);
  });
  std::unique_ptr<Log> log = Open(Options(), files);
  AppendMany(*log, 10, Level::kSync);
  Settle(*log);
  // Longer than a mapped chunk, so that it is written in every mode; in several writes.
  const std::string longest(30000, 'x');
  for (int nth = 1; nth <= 3; ++nth) {
    const uint64_t next = log->next_seq();
    left = nth;
    const Result<uint64_t> refused = log->AppendSync(AsBytes(longest), Level::kSync);
    const bool struck = left <= 0;
    left = 0;
    if (struck) {
      EXPECT_EQ(refused.status().code(), Code::kOutOfMemory) << refused.status().message();
    }
    EXPECT_EQ(log->next_seq(), struck ? next : next + 1);
    EXPECT_FALSE(log->latched());
    ASSERT_TRUE(log->AppendSync(AsBytes("next"), Level::kSync).ok());
  }
  const uint64_t end = log->next_seq();
  Close(std::move(log));
  EXPECT_EQ(ReadFrom(0).size(), end);
  log = Open(Options());
  EXPECT_EQ(log->recovery().state, RecoveryState::kClean);
  EXPECT_EQ(log->next_seq(), end);
  Close(std::move(log));
}

// Holds every job for good, as a worker's queue may for a while.
class HoardingExecutor final : public Executor {
 public:
  void Execute(std::shared_ptr<Job> job) override {
    jobs_.push_back(job);
    threads_.Execute(std::move(job));
  }

 private:
  std::vector<std::shared_ptr<Job>> jobs_;
  ThreadExecutor threads_;
};

size_t OpenFilesBelow(const std::string& folder) {
  size_t count = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
    if (target.rfind(folder + "/", 0) == 0) ++count;
  }
  return count;
}

TEST_P(AppendFailuresTest, AClosedLogsJobsHoldNoFile) {
  // Wine shows the /proc of Linux.
  const bool has_proc = root_.front() == '/' && std::filesystem::exists("/proc/self/fd");
  if (!has_proc) GTEST_SKIP() << "the system has no /proc/self/fd";
  HoardingExecutor executor;
  std::unique_ptr<Log> log = Open(Options());
  log->Attach(&executor, &listener_);
  AppendMany(*log, 200, Level::kMemory);
  AppendMany(*log, 200, Level::kSync);
  Result<std::shared_ptr<TruncateJob>> cut = log->BeginTruncate(300);
  ASSERT_TRUE(cut.ok());
  (*cut)->RunOnce();
  ASSERT_TRUE(log->FinishTruncate(**cut).ok());
  AppendMany(*log, 100, Level::kMemory);
  EXPECT_GT(OpenFilesBelow(PathOf("log")), 0u);
  Close(std::move(log));
  EXPECT_EQ(OpenFilesBelow(PathOf("log")), 0u);
}

// On files in memory, which a test can look into.
class MemoryLogTest : public LogTestFolder {
 protected:
  std::unique_ptr<Log> OpenInMemory(const LogOptions& options) {
    return OpenAttached(file_system_, "memory", options, &executor_, &listener_);
  }
  MemoryFileSystem file_system_;
};

TEST_F(MemoryLogTest, LongBlocksAreWrittenWithTheHeader) {
  for (const uint32_t alignment : {4096u, 8192u, 16384u, 65536u}) {
    for (const bool zero : {false, true}) {
      file_system_.files.clear();
      file_system_.device.direct_alignment = alignment;
      LogOptions options = SmallOptions(Strategy::kDirect);
      options.segment_bytes = 68 << 10;  // ends within a block
      options.preallocation_auto = !zero;
      options.preallocation = Preallocation::kZero;
      for (int run = 0; run < 3; ++run) {
        std::unique_ptr<Log> log = OpenInMemory(options);
        ASSERT_NE(log, nullptr);
        EXPECT_EQ(log->Stats().mode, WriteMode::kDirect);
        AppendMany(*log, 250, Level::kSync);
        Settle(*log);
        Close(std::move(log));
      }
      EXPECT_TRUE(listener_.failures.empty());
      const Result<VerifyReport> report = Verify(file_system_, "memory");
      ASSERT_TRUE(report.ok()) << report.status().message();
      EXPECT_EQ(report->state, RecoveryState::kClean) << alignment;
      EXPECT_EQ(report->records, 750u) << alignment;
      EXPECT_TRUE(report->problems.empty()) << alignment;
      for (const SegmentReport& segment : report->segments) EXPECT_EQ(segment.header_problem, "");
    }
  }
}

TEST_F(MemoryLogTest, OverlongBlocksGetNoDirectWrites) {
  file_system_.device.direct_alignment = 128 << 10;
  const std::unique_ptr<Log> log = OpenInMemory(SmallOptions(Strategy::kDirect));
  EXPECT_EQ(log->Stats().mode, WriteMode::kPwrite);
}

TEST_F(MemoryLogTest, AFullDiskSkipsZerosAhead) {
  for (const Strategy strategy : {Strategy::kDirect, Strategy::kPwrite}) {
    file_system_.files.clear();
    file_system_.device.longest_write = SIZE_MAX;
    file_system_.device.overwrites_in_place = true;
    std::unique_ptr<Log> log = OpenInMemory(SmallOptions(strategy));
    file_system_.device.longest_write = 4096;
    const Result<uint64_t> seq = log->AppendSync(AsBytes("x"), Level::kSync);
    EXPECT_TRUE(seq.ok()) << seq.status().message();
    EXPECT_TRUE(listener_.failures.empty());
    Close(std::move(log));
  }
}

TEST_F(MemoryLogTest, AFullSyncCoversEveryUsedSegment) {
  for (const Strategy strategy : {Strategy::kDirect, Strategy::kPwrite}) {
    file_system_.files.clear();
    std::unique_ptr<Log> log = OpenInMemory(SmallOptions(strategy));
    AppendMany(*log, 500, Level::kSync);
    Settle(*log);
    ASSERT_GT(log->Stats().segments, 3u);
    log->RequestSync(Level::kFull);
    Settle(*log);
    EXPECT_EQ(log->ReachedEnd(Level::kFull), 500u);
    const std::lock_guard<std::mutex> guard(file_system_.device.mutex);
    for (const auto& [name, bytes] : file_system_.files) {
      EXPECT_EQ(file_system_.device.awaiting_full_sync.count(bytes.get()), 0u) << name;
    }
  }
}

TEST_F(MemoryLogTest, ABatchBeyondPendingBytesIsRefused) {
  LogOptions options = SmallOptions(Strategy::kDirect);
  options.max_pending_bytes = 4000;
  std::unique_ptr<Log> log = OpenInMemory(options);
  const std::string payload(1000, 'x');
  const std::vector<PayloadParts> batch(4, AsBytes(payload));
  EXPECT_EQ(log->AppendBatch(batch.data(), 4, Level::kSync).status().code(), Code::kBatchTooLarge);
  EXPECT_TRUE(log->AppendBatch(batch.data(), 3, Level::kSync).ok());
  Settle(*log);
  Close(std::move(log));
}

}  // namespace
}  // namespace durlog
