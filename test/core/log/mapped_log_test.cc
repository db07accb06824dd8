// A log whose records are stored into a map: what its own thread does, and what it leaves to
// others.
#include <gtest/gtest.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "held_executor.h"
#include "inline_executor.h"
#include "live/live_page_layout.h"
#include "log_test_folder.h"
#include "observed_file_system.h"

namespace durlog {
namespace {

// Each job is done, on another thread, when Execute() returns: no worker is ever behind.
class PromptExecutor final : public Executor {
 public:
  void Execute(std::shared_ptr<Job> job) override {
    std::thread([job] { job->RunOnce(); }).join();
  }
};

// The calls that the thread which made it has made itself.
class CallsOfThisThread {
 public:
  Status operator()(const ObservedCall& call) {
    if (std::this_thread::get_id() == thread_) calls_.insert(call.call);
    return Status::Ok();
  }
  std::set<std::string> Take() { return std::exchange(calls_, {}); }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
  std::set<std::string> calls_;
};

class MappedLogTest : public LogTestFolder, public testing::WithParamInterface<Strategy> {
 protected:
  LogOptions Options() const {
    LogOptions options = SmallOptions(GetParam());
    options.expected_level = Level::kMemory;
    return options;
  }
  void WriteOne(Log& log) {
    const Result<uint64_t> seq = log.Write(AsBytes(PayloadOf(log.next_seq())));
    ASSERT_TRUE(seq.ok()) << seq.status().message();
    log.Harvest();
  }
};

INSTANTIATE_TEST_SUITE_P(Strategies, MappedLogTest,
                         testing::Values(Strategy::kAuto, Strategy::kMmap), NameOfStrategy);

TEST_P(MappedLogTest, ARotationOnlyRenamesOnTheAppendingThread) {
  if (!folder_->Probe()->survives_map_faults) GTEST_SKIP() << kNoMappedLogs;
  PromptExecutor workers;
  CallsOfThisThread calls;
  ObservedFileSystem file_system([&](const ObservedCall& call) { return calls(call); }, "ext4");
  std::unique_ptr<Log> log = Open(Options(), file_system);
  log->Attach(&workers, &listener_);
  WriteOne(*log);
  static_cast<void>(calls.Take());
  while (listener_.rotated.size() < 3) {
    WriteOne(*log);
    if (HasFatalFailure()) return;
    const std::set<std::string> made = calls.Take();
    for (const std::string& call : made) EXPECT_EQ(call, "rename");
  }
  const uint64_t end = log->next_seq();
  Close(std::move(log));
  ExpectRecords(0, end);
}

TEST_P(MappedLogTest, ALongRangeIsSyncedWithoutTheZerosAhead) {
  if (!folder_->Probe()->survives_map_faults) GTEST_SKIP() << kNoMappedLogs;
  std::set<std::string> syncs;
  uint64_t mapped_end = 0;  // of the newest map
  ObservedFileSystem file_system(
      [&](const ObservedCall& call) {
        if (call.call.rfind("sync-", 0) == 0) syncs.insert(call.call);
        if (call.call == "map") mapped_end = call.offset + call.length;
        return Status::Ok();
      },
      "ext4");
  LogOptions options = Options();
  options.segment_bytes = 8 << 20;
  InlineExecutor at_once;
  std::unique_ptr<Log> log = Open(options, file_system);
  log->Attach(&at_once, &listener_);
  // Ten times what stays mapped.
  const std::string payload(1000, 'p');
  for (uint64_t written = 0; written < 10 * options.chunk_bytes; written += payload.size()) {
    ASSERT_TRUE(log->Append(AsBytes(payload), Level::kMemory).ok());
  }
  const uint64_t populated_end = mapped_end;
  syncs.clear();
  log->RequestSync(Level::kSync);
  Settle(*log);
  EXPECT_EQ(log->ReachedEnd(Level::kSync), log->next_seq());
  // The directory's, for the name of the first segment.
  syncs.erase("sync-directory");
  EXPECT_EQ(syncs, std::set<std::string>{"sync-map"});
  EXPECT_LT(mapped_end + options.chunk_bytes, populated_end);
}

TEST_P(MappedLogTest, ABatchIsTakenBackAfterEveryMapOfItsFile) {
  if (!folder_->Probe()->survives_map_faults) GTEST_SKIP() << kNoMappedLogs;
  bool lacks_memory = false;
  int maps = 0;
  int cuts = 0;
  ObservedFileSystem file_system(
      [&](const ObservedCall& call) {
        if (call.name == kLiveName) return Status::Ok();
        if (call.call == "map") {
          if (lacks_memory) return Status::System("mmap", ENOMEM, call.name);
          ++maps;
        } else if (call.call == "unmap") {
          --maps;
        } else if (call.call == "truncate" && lacks_memory) {
          ++cuts;
          EXPECT_EQ(maps, 0) << "a map reaches beyond the end of " << call.name;
        }
        return Status::Ok();
      },
      "ext4");
  HeldExecutor held;
  std::unique_ptr<Log> log = Open(Options(), file_system);
  log->Attach(&held, &listener_);
  ASSERT_TRUE(log->Append(AsBytes(PayloadOf(0)), Level::kSync).ok());
  log->Pump();
  lacks_memory = true;
  const std::string payload(900, 'b');
  const std::vector<PayloadParts> batch(20, AsBytes(payload));
  const Result<uint64_t> refused = log->AppendBatch(batch.data(), batch.size(), Level::kSync);
  EXPECT_EQ(refused.status().code(), Code::kOutOfMemory) << refused.status().message();
  EXPECT_EQ(cuts, 1);
  lacks_memory = false;
  held.RunAll();
  log->Harvest();
  EXPECT_FALSE(log->latched());
  log->Attach(&executor_, &listener_);
  AppendMany(*log, 20, Level::kSync);
  Close(std::move(log));
  ExpectRecords(0, 21);
}

TEST_P(MappedLogTest, RecordsOfAnyLengthComeBack) {
  LogOptions options = Options();
  options.segment_bytes = 1 << 20;
  options.max_record_bytes = 60000;
  std::unique_ptr<Log> log = Open(options);
  std::vector<std::string> written;
  for (size_t i = 0; i < 60; ++i) {
    // Now and then one that is longer than the window, and goes to the file.
    const size_t most = i % 5 == 0 ? 60000 : options.chunk_bytes - kFrameHeaderBytes;
    written.emplace_back(1 + i * 9973 % most, static_cast<char>('a' + i % 26));
    const Result<uint64_t> seq = log->Write(AsBytes(written.back()));
    ASSERT_TRUE(seq.ok()) << seq.status().message();
    if (i % 8 == 0) log->RequestSync(Level::kSync);
    Settle(*log);
  }
  Close(std::move(log));
  const std::vector<std::string> read = ReadFrom(0);
  ASSERT_EQ(read.size(), written.size());
  for (size_t i = 0; i < read.size(); ++i) EXPECT_TRUE(read[i] == written[i]) << i;
}

}  // namespace
}  // namespace durlog
