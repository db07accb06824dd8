// The times of records: the clock's, which may be set back, and those that a caller gives.
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "inspect/verify.h"
#include "log_test_folder.h"
#include "observed_file_system.h"

namespace durlog {
namespace {

constexpr uint64_t kHourMs = 3600 * 1000;
constexpr uint64_t kLongAgoMs = 1'000'000'000'000;

class RecordTimeTest : public LogTestFolder, public testing::WithParamInterface<Strategy> {
 protected:
  RecordTimeTest() : file_system_([this](const ObservedCall& call) { return Observe(call); }) {}

  std::unique_ptr<Log> OpenObserved() { return Open(SmallOptions(GetParam()), file_system_); }
  std::unique_ptr<Log> Reopen(std::unique_ptr<Log> log) {
    Close(std::move(log));
    return OpenObserved();
  }
  void AppendAt(Log& log, uint64_t time_ms) {
    const std::string payload = PayloadOf(log.next_seq());
    for (;;) {
      const Result<uint64_t> seq = log.Append(AsBytes(payload), Level::kSync, time_ms);
      if (seq.ok()) return;
      ASSERT_EQ(seq.status().code(), Code::kBackpressure) << seq.status().message();
      log.Pump();
      log.Harvest();
      std::this_thread::yield();
    }
  }
  void AppendNow(Log& log) {
    AppendAt(log, Log::kClockTime);
    Settle(log);
  }
  void ExpectNoneFallsWithinASegment(const std::vector<ReadRecord>& records) {
    for (size_t i = 1; i < records.size(); ++i) {
      if (records[i].base_time_ms != records[i - 1].base_time_ms) continue;
      EXPECT_GE(records[i].time_ms, records[i - 1].time_ms) << "seq " << i;
    }
  }

  std::function<Status(const ObservedCall&)> observer_;
  ObservedFileSystem file_system_;

 private:
  Status Observe(const ObservedCall& call) { return observer_ ? observer_(call) : Status::Ok(); }
};

INSTANTIATE_TEST_SUITE_P(Strategies, RecordTimeTest,
                         testing::Values(Strategy::kAuto, Strategy::kMmap, Strategy::kPwrite,
                                         Strategy::kDirect),
                         NameOfStrategy);

TEST_P(RecordTimeTest, AGivenTimeIsKeptExactly) {
  const std::vector<uint64_t> given = {kLongAgoMs,
                                       kLongAgoMs,
                                       kLongAgoMs + 5,
                                       kLongAgoMs + UINT32_MAX,      // the last that fits
                                       kLongAgoMs + UINT32_MAX + 1,  // further than 32 bits say
                                       kLongAgoMs + 3,               // back
                                       kLongAgoMs + (1ull << 40),    // in the clock's future
                                       0,                            // as far back as can be
                                       8'640'000'000'000'000,        // and as far ahead
                                       kLongAgoMs};
  std::unique_ptr<Log> log = OpenObserved();
  for (const uint64_t time_ms : given) AppendAt(*log, time_ms);
  Settle(*log);
  log = Reopen(std::move(log));
  for (const uint64_t time_ms : given) AppendAt(*log, time_ms);
  Close(std::move(log));
  const std::vector<ReadRecord> records = ReadRecords(0);
  ASSERT_EQ(records.size(), 2 * given.size());
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].time_ms, given[i % given.size()]) << "seq " << i;
  }
  ExpectRecords(0, records.size());
  const Result<VerifyReport> report = Verify(DefaultFileSystem(), PathOf("log"));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->state, RecoveryState::kClean);
}

TEST_P(RecordTimeTest, TimesInOrderShareASegment) {
  std::unique_ptr<Log> log = OpenObserved();
  for (uint64_t i = 0; i < 400; ++i) AppendAt(*log, kLongAgoMs + i * kHourMs);
  Close(std::move(log));
  const std::vector<ReadRecord> records = ReadRecords(0);
  ASSERT_EQ(records.size(), 400u);
  for (size_t i = 0; i < records.size(); ++i)
    EXPECT_EQ(records[i].time_ms, kLongAgoMs + i * kHourMs);
  // 180 kB of records: the empty first segment was replaced, the others were full.
  EXPECT_LE(listener_.rotated.size(), 4u);
}

TEST_P(RecordTimeTest, ABatchsRecordsShareItsTime) {
  std::unique_ptr<Log> log = OpenObserved();
  AppendNow(*log);
  const std::string record = "record";
  const std::vector<PayloadParts> payloads(3, AsBytes(record));
  Result<uint64_t> first = Status::Error(Code::kBackpressure, "");
  while (!first.ok()) {
    first = log->AppendBatch(payloads.data(), payloads.size(), Level::kSync, kLongAgoMs);
    ASSERT_TRUE(first.ok() || first.status().code() == Code::kBackpressure);
    log->Pump();
    log->Harvest();
  }
  AppendNow(*log);
  Close(std::move(log));
  const std::vector<ReadRecord> records = ReadRecords(0);
  ASSERT_EQ(records.size(), 5u);
  for (size_t i = 1; i <= 3; ++i) EXPECT_EQ(records[i].time_ms, kLongAgoMs);
  EXPECT_GT(records[4].time_ms, kLongAgoMs);
}

TEST_P(RecordTimeTest, TimesNeverFallOverAReopen) {
  file_system_.clock_ahead_ms = 2 * kHourMs;
  std::unique_ptr<Log> log = OpenObserved();
  file_system_.clock_ahead_ms = 5 * kHourMs;
  AppendNow(*log);
  log = Reopen(std::move(log));
  file_system_.clock_ahead_ms = 3 * kHourMs;
  AppendNow(*log);
  Close(std::move(log));
  const std::vector<ReadRecord> records = ReadRecords(0);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].base_time_ms, records[1].base_time_ms);
  ExpectNoneFallsWithinASegment(records);
}

TEST_P(RecordTimeTest, TimesNeverFallOverATruncation) {
  file_system_.clock_ahead_ms = 2 * kHourMs;
  std::unique_ptr<Log> log = OpenObserved();
  file_system_.clock_ahead_ms = 5 * kHourMs;
  AppendNow(*log);
  // The cut is back in the segment before, whose times are the later ones.
  file_system_.clock_ahead_ms = kHourMs;
  while (listener_.rotated.empty()) AppendNow(*log);
  AppendNow(*log);
  Result<std::shared_ptr<TruncateJob>> job = log->BeginTruncate(1);
  ASSERT_TRUE(job.ok()) << job.status().message();
  (*job)->RunOnce();
  ASSERT_TRUE(log->FinishTruncate(**job).ok());
  AppendNow(*log);
  Close(std::move(log));
  const std::vector<ReadRecord> records = ReadRecords(0);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].base_time_ms, records[1].base_time_ms);
  ExpectNoneFallsWithinASegment(records);
}

TEST_P(RecordTimeTest, ASpareForACutRecordGivesNoTime) {
  std::unique_ptr<Log> log = OpenObserved();
  AppendNow(*log);
  const uint64_t ahead_ms = DefaultFileSystem().NowMs() + 24 * kHourMs;
  // Up to where the next segment is prepared, and no further.
  while (log->next_seq() < 100) AppendAt(*log, ahead_ms);
  Settle(*log);
  ASSERT_TRUE(listener_.rotated.empty());
  Result<std::shared_ptr<TruncateJob>> job = log->BeginTruncate(1);
  ASSERT_TRUE(job.ok()) << job.status().message();
  (*job)->RunOnce();
  ASSERT_TRUE(log->FinishTruncate(**job).ok());
  while (listener_.rotated.empty()) AppendMany(*log, 10, Level::kSync);
  Close(std::move(log));
  for (const ReadRecord& record : ReadRecords(0)) EXPECT_LT(record.time_ms, ahead_ms);
}

TEST_P(RecordTimeTest, ARollbackTakesItsTimesWithIt) {
  if (GetParam() == Strategy::kMmap) GTEST_SKIP() << "what is stored in a map is not rolled back";
  std::unique_ptr<Log> log = OpenObserved();
  if (log->Stats().mode == WriteMode::kMmap) GTEST_SKIP() << log->Stats().reason;
  AppendAt(*log, kLongAgoMs);
  AppendAt(*log, kLongAgoMs + 1000);
  Settle(*log);
  observer_ = [](const ObservedCall& call) {
    const bool writes = call.call == "write" || call.call == "write-direct";
    return writes ? Status::System("pwrite", ENOSPC, call.name) : Status::Ok();
  };
  // The group ends in a new segment. A record 500 ms after that segment's base time must not be
  // taken for newer than the 1,000 ms of the previous segment.
  AppendAt(*log, kLongAgoMs - kHourMs);
  Settle(*log);
  ASSERT_EQ(listener_.failures.size(), 1u);
  ASSERT_FALSE(listener_.failures[0].latched);
  observer_ = nullptr;
  AppendAt(*log, kLongAgoMs + 500);
  AppendAt(*log, kLongAgoMs + 600);
  Close(std::move(log));
  const std::vector<ReadRecord> records = ReadRecords(0);
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[2].time_ms, kLongAgoMs + 500);
  EXPECT_EQ(records[3].time_ms, kLongAgoMs + 600);
  ExpectNoneFallsWithinASegment(records);
}

TEST_P(RecordTimeTest, ARefusedAppendsTimeIsForgotten) {
  std::unique_ptr<Log> log = OpenObserved();
  AppendNow(*log);
  log = Reopen(std::move(log));
  observer_ = [](const ObservedCall& call) {
    const bool needed = call.call == "map" || call.call == "read";
    return needed ? Status::System("open", EMFILE, call.name) : Status::Ok();
  };
  const uint64_t ahead_ms = DefaultFileSystem().NowMs() + 24 * kHourMs;
  const Result<uint64_t> refused = log->Append(AsBytes("refused"), Level::kSync, ahead_ms);
  observer_ = nullptr;
  if (refused.ok()) GTEST_SKIP() << "pwrite needs nothing that can be refused";
  ASSERT_EQ(refused.status().code(), Code::kTooManyFiles) << refused.status().message();
  AppendNow(*log);
  Close(std::move(log));
  const std::vector<ReadRecord> records = ReadRecords(0);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_LT(records[1].time_ms, ahead_ms);
}

}  // namespace
}  // namespace durlog
