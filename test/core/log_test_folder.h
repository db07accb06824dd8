// A log in a new folder on the real file system, driven as the binding drives it.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "log/log.h"
#include "platform_test_folder.h"
#include "read_all_records.h"

namespace durlog {

// Runs jobs on separate threads, as libuv's pool does.
class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(size_t threads = 2) {
    for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~ThreadExecutor() override {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void Execute(std::shared_ptr<Job> job) override {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
  }

 private:
  void Work() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const std::shared_ptr<Job> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job->RunOnce();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

struct Failure {
  Code code;
  uint64_t first_seq;
  uint64_t unknown_before;
  bool latched;
};

class RecordingListener final : public LogListener {
 public:
  void OnFailure(const Status& status, uint64_t first_seq, uint64_t unknown_before,
                 bool latched) override {
    failures.push_back(Failure{status.code(), first_seq, unknown_before, latched});
  }
  void OnRotated(uint64_t first_seq) override { rotated.push_back(first_seq); }
  void OnStalled(int64_t pid, uint64_t seq, bool) override {
    ++stalls;
    stalled_pid = pid;
    stalled_seq = seq;
  }
  void OnClosedUnsynced(const Status& stalled) override { closed_unsynced = stalled.code(); }
  int stalls = 0;
  int64_t stalled_pid = 0;
  uint64_t stalled_seq = 0;
  Code closed_unsynced = Code::kOk;
  std::vector<Failure> failures;
  std::vector<uint64_t> rotated;
};

inline LogOptions SmallOptions(Strategy strategy) {
  LogOptions options;
  options.strategy = strategy;
  options.segment_bytes = 64 << 10;
  options.chunk_bytes = 16 << 10;
  options.max_pending_bytes = 1 << 20;
  options.max_record_bytes = 32 << 10;
  return options;
}

// The name of a test that runs for each strategy.
inline std::string NameOfStrategy(const testing::TestParamInfo<Strategy>& info) {
  const char* const names[] = {"Auto", "Mmap", "Pwrite", "Direct"};
  return names[static_cast<size_t>(info.param)];
}

inline std::string PayloadOf(uint64_t seq) {
  return std::string(1 + static_cast<size_t>(seq * 37 % 900), static_cast<char>('a' + seq % 26));
}
inline Bytes AsBytes(const std::string& text) {
  return Bytes{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Null, and a failed expectation, where the log cannot be opened.
inline std::unique_ptr<Log> OpenAttached(FileSystem& file_system, const std::string& path,
                                         const LogOptions& options, Executor* executor,
                                         LogListener* listener) {
  Result<std::unique_ptr<Log>> log = Log::Open(file_system, path, options);
  EXPECT_TRUE(log.ok()) << log.status().message();
  if (!log.ok()) return nullptr;
  (*log)->Attach(executor, listener);
  return std::move(*log);
}

class LogTestFolder : public PlatformTest {
 protected:
  std::unique_ptr<Log> Open(const LogOptions& options,
                            FileSystem& file_system = DefaultFileSystem()) {
    return OpenAttached(file_system, PathOf("log"), options, &executor_, &listener_);
  }
  // Pumps until nothing is wanted any more.
  void Settle(Log& log) {
    while (!log.idle()) {
      log.Pump();
      log.Harvest();
      std::this_thread::yield();
    }
  }
  void Close(std::unique_ptr<Log> log) {
    log->PrepareClose();
    Settle(*log);
  }
  // Tries again while there is no room, as the binding does.
  Result<uint64_t> Append(Log& log, const std::string& payload, Level level) {
    for (;;) {
      Result<uint64_t> seq = log.Append(AsBytes(payload), level);
      if (seq.ok() || seq.status().code() != Code::kBackpressure) return seq;
      log.Pump();
      log.Harvest();
      std::this_thread::yield();
    }
  }
  void AppendMany(Log& log, uint64_t count, Level level) {
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t seq = log.next_seq();
      const Result<uint64_t> got = Append(log, PayloadOf(seq), level);
      ASSERT_TRUE(got.ok()) << got.status().message();
      ASSERT_EQ(*got, seq);
      if (i % 7 == 0) log.Pump();
      log.Harvest();
    }
  }
  // Every record from `from` on, by a cursor; no seq is left out.
  std::vector<ReadRecord> ReadRecords(uint64_t from) {
    std::vector<ReadRecord> records = ReadAllRecords(PathOf("log"), from);
    for (size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i].seq, from + i);
    return records;
  }
  std::vector<std::string> ReadFrom(uint64_t from) {
    std::vector<std::string> payloads;
    for (ReadRecord& record : ReadRecords(from)) payloads.push_back(std::move(record.payload));
    return payloads;
  }
  void ExpectRecords(uint64_t from, uint64_t end) {
    const std::vector<std::string> payloads = ReadFrom(from);
    ASSERT_EQ(payloads.size(), end - from);
    for (uint64_t seq = from; seq < end; ++seq) EXPECT_EQ(payloads[seq - from], PayloadOf(seq));
  }

  ThreadExecutor executor_;
  RecordingListener listener_;
};

}  // namespace durlog
