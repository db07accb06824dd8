// Members in threads of one process, with jobs on other threads. All maps of a file have the same
// address, so that `npm run test:core -- --sanitize thread` sees every pair of accesses.

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "observed_file_system.h"
#include "shared_test_folder.h"

namespace durlog {
namespace {

constexpr int kMembers = 4;
constexpr int kRounds = 3;
constexpr int kAppends = 120;

// The records that were acknowledged to the members of one thread.
using AcknowledgedRecords = std::map<uint64_t, std::string>;

class SharedThreadsTest : public SharedTestFolder {
 protected:
  SharedThreadsTest() : files_([](const ObservedCall&) { return Status::Ok(); }) {
    files_.maps = &maps_;
  }

  Result<std::unique_ptr<SharedLog>> OpenIn(Executor* executor, LogListener* listener) {
    LogOptions options = Small();
    options.eager_bytes = 500;
    Result<std::unique_ptr<SharedLog>> log = SharedLog::Open(files_, PathOf("log"), options);
    if (log.ok()) (*log)->Attach(executor, listener);
    return log;
  }

  // An append does not wait for the next segment's file, which another thread may be making.
  static Result<uint64_t> AppendWhenThereIsRoom(SharedLog& log, Bytes payload) {
    for (;;) {
      Result<uint64_t> seq = log.Append(payload, Level::kSync);
      if (seq.status().code() != Code::kBackpressure) return seq;
      log.Pump();
      std::this_thread::yield();
      log.Harvest();
    }
  }

  // Makes one append of the kind that `turn` selects.
  static void AppendOne(SharedLog& log, const std::string& text, int turn,
                        AcknowledgedRecords* acknowledged) {
    if (turn % 10 == 3) {
      const std::string second = text + "+";
      const PayloadParts batch[] = {AsBytes(text), AsBytes(second)};
      const Result<uint64_t> seq = log.WriteBatch(batch, 2);
      ASSERT_TRUE(seq.ok()) << seq.status().message();
      (*acknowledged)[*seq] = text;
      (*acknowledged)[*seq + 1] = second;
      return;
    }
    const Result<uint64_t> seq = turn % 20 == 7  ? log.AppendSync(AsBytes(text), Level::kSync)
                                 : turn % 10 < 3 ? AppendWhenThereIsRoom(log, AsBytes(text))
                                                 : log.Write(AsBytes(text));
    ASSERT_TRUE(seq.ok()) << seq.status().message();
    (*acknowledged)[*seq] = text;
  }

  // Joins, appends, sometimes trims, and leaves: every second time without closing.
  void RunMember(int member, AcknowledgedRecords* acknowledged) {
    ThreadExecutor executor(2);
    RecordingListener listener;
    for (int round = 0; round < kRounds; ++round) {
      Result<std::unique_ptr<SharedLog>> log = OpenIn(&executor, &listener);
      ASSERT_TRUE(log.ok()) << log.status().message();
      for (int turn = 0; turn < kAppends; ++turn) {
        const std::string text = std::to_string(member) + ":" + std::to_string(round) + ":" +
                                 std::to_string(turn) + std::string(200, 'x');
        AppendOne(**log, text, turn, acknowledged);
        if (turn % 30 == 11) (*log)->RequestSync(Level::kFull);
        (*log)->Pump();
        (*log)->Harvest();
        if (member == 0 && turn == kAppends / 2) {
          const std::shared_ptr<SharedTrimJob> trim = (*log)->BeginTrim((*log)->next_seq() / 2);
          executor.Execute(trim);
        }
      }
      if (round % 2 == 0) Leave(std::move(*log));
    }
    EXPECT_TRUE(listener.failures.empty());
  }

  ObservedFileSystem files_;
  MapsByFile maps_;
};

TEST_F(SharedThreadsTest, JoinAppendSyncRotateTrimReadAndLeaveBesideEachOther) {
  // Keeps the log open, so that no other open recovers it.
  Result<std::unique_ptr<SharedLog>> opened = OpenIn(&inline_, &listener_);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  std::unique_ptr<SharedLog> first = std::move(*opened);
  std::vector<AcknowledgedRecords> acknowledged(kMembers);
  std::vector<std::thread> threads;
  for (int member = 0; member < kMembers; ++member) {
    threads.emplace_back([this, member, &acknowledged] {
      RunMember(member, &acknowledged[static_cast<size_t>(member)]);
    });
  }
  std::atomic<bool> ends{false};
  std::thread reader([this, &ends] {
    while (!ends) {
      Result<std::unique_ptr<LogReader>> log_reader = LogReader::Open(files_, PathOf("log"), 0);
      std::vector<uint8_t> buffer(64 << 10);
      std::vector<ReadEntry> entries(256);
      while (log_reader.ok() && !ends) {
        const Result<ReadBatch> batch =
            (*log_reader)
                ->Next(buffer.data(), buffer.size(), entries.data(), 256, LogReader::kNoLimit);
        if (!batch.ok() || batch->count == 0) break;
      }
    }
  });
  for (std::thread& thread : threads) thread.join();
  ends = true;
  reader.join();
  std::map<uint64_t, std::string> records;
  for (auto& [seq, text] : ReadAll(first->first_seq())) records[seq] = text;
  size_t told = 0;
  for (const AcknowledgedRecords& of_one : acknowledged) {
    told += of_one.size();
    for (const auto& [seq, text] : of_one) {
      if (seq >= first->first_seq()) {
        EXPECT_EQ(records[seq], text);
      }
    }
  }
  EXPECT_EQ(told, static_cast<size_t>(kMembers * kRounds * kAppends * 11 / 10));
  Leave(std::move(first));
  ExpectClean();
}

}  // namespace
}  // namespace durlog
