// Several writers of one log in one process. Each opens the files again, as a process would.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "inline_executor.h"
#include "inspect/verify.h"
#include "log_test_folder.h"
#include "shared/shared_log.h"

namespace durlog {

class SharedTestFolder : public LogTestFolder {
 protected:
  void SetUp() override {
    const Result<Capabilities> can = folder_->Probe();
    if (!can.ok() || !can->shares_maps || !can->overwrites_in_place) {
      GTEST_SKIP() << "not on this system: several writers cannot share a log here";
    }
    const Result<bool> locks = MakeFile("probe")->TryLockRange(LockKind::kShared, 0, 0);
    if (!locks.ok()) GTEST_SKIP() << "not on this system: " << locks.status().message();
  }

  static LogOptions Small() {
    LogOptions options;
    options.segment_bytes = 64 << 10;
    options.max_record_bytes = 32 << 10;
    // A member that waits for a busy device is not stopped.
    options.stall_ms = 60'000;
    return options;
  }
  Result<std::unique_ptr<SharedLog>> TryOpen(const LogOptions& options = Small()) {
    Result<std::unique_ptr<SharedLog>> log =
        SharedLog::Open(DefaultFileSystem(), PathOf("log"), options);
    if (log.ok()) (*log)->Attach(&inline_, &listener_);
    return log;
  }
  std::unique_ptr<SharedLog> OpenMember(const LogOptions& options = Small()) {
    Result<std::unique_ptr<SharedLog>> log = TryOpen(options);
    EXPECT_TRUE(log.ok()) << log.status().message();
    return log.ok() ? std::move(*log) : nullptr;
  }
  // The log's folder.
  std::unique_ptr<Directory> OpenFolder() {
    Result<std::unique_ptr<Directory>> folder =
        DefaultFileSystem().OpenDirectory(PathOf("log"), false);
    EXPECT_TRUE(folder.ok()) << folder.status().message();
    return folder.ok() ? std::move(*folder) : nullptr;
  }
  static void Leave(std::unique_ptr<SharedLog> log) {
    log->PrepareClose();
    while (!log->idle()) {
      log->Pump();
      log->Harvest();
    }
  }
  static uint64_t Write(SharedLog& log, const std::string& payload) {
    const Result<uint64_t> seq = log.Write(AsBytes(payload));
    EXPECT_TRUE(seq.ok()) << seq.status().message();
    return seq.ok() ? *seq : UINT64_MAX;
  }
  void ExpectClean() {
    const Result<VerifyReport> report = Verify(DefaultFileSystem(), PathOf("log"));
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->state, RecoveryState::kClean);
    EXPECT_TRUE(report->problems.empty()) << report->problems.front().message;
  }
  // Every record from `from` on, with its seq.
  std::vector<std::pair<uint64_t, std::string>> ReadAll(uint64_t from = 0) {
    std::vector<std::pair<uint64_t, std::string>> records;
    for (ReadRecord& record : ReadAllRecords(PathOf("log"), from)) {
      records.emplace_back(record.seq, std::move(record.payload));
    }
    return records;
  }

  InlineExecutor inline_;
};

}  // namespace durlog
