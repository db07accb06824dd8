// Seqs without a record in a log that is restored: as in the one that it is restored from.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "inspect/verify.h"
#include "log_test_folder.h"
#include "read/point_reader.h"
#include "segment/open_segment.h"

namespace durlog {
namespace {

constexpr uint64_t kTimeMs = 1'000'000'000'000;

class RestoredVoidTest : public LogTestFolder, public testing::WithParamInterface<Strategy> {
 protected:
  LogOptions Restored() const {
    LogOptions options = SmallOptions(GetParam());
    options.restored.uuid = LogUuid{1, 2, 3};
    return options;
  }
  template <typename Call>
  uint64_t Await(Log& log, const Call& call) {
    for (;;) {
      const Result<uint64_t> seq = call();
      if (seq.ok()) return *seq;
      EXPECT_EQ(seq.status().code(), Code::kBackpressure) << seq.status().message();
      log.Pump();
      log.Harvest();
      std::this_thread::yield();
    }
  }
  void AppendRecord(Log& log) {
    const std::string payload = PayloadOf(log.next_seq());
    Await(log, [&] { return log.AppendSync(AsBytes(payload), Level::kMemory, kTimeMs); });
  }
  void AppendVoid(Log& log, uint64_t seqs) {
    const uint64_t seq = log.next_seq();
    EXPECT_EQ(Await(log, [&] { return log.WriteVoid(seqs, kTimeMs); }), seq);
    EXPECT_EQ(log.next_seq(), seq + seqs);
    for (uint64_t i = 0; i < seqs; ++i) void_.push_back(seq + i);
  }
  // Whether the seq is in the middle of a long void, where each one is read alike.
  bool IsLikeNeighbours(uint64_t seq) const {
    constexpr uint64_t kNeighbours = 4;
    const auto begin = std::lower_bound(void_.begin(), void_.end(), seq);
    const auto after = static_cast<uint64_t>(void_.end() - begin);
    const auto before = static_cast<uint64_t>(begin - void_.begin());
    return seq % 8 != 0 && before >= kNeighbours && after > kNeighbours &&
           *(begin - kNeighbours) == seq - kNeighbours &&
           *(begin + kNeighbours) == seq + kNeighbours;
  }
  // The seqs of the log: a record as it was appended, or none.
  void ExpectAsAppended(uint64_t next_seq) {
    PointReader reader(DefaultFileSystem(), PathOf("log"), PointReader::Writer::kForeign);
    auto none = void_.begin();
    for (uint64_t seq = 0; seq < next_seq; ++seq) {
      if (IsLikeNeighbours(seq)) {
        ++none;
        continue;
      }
      const Result<PointRecord> record = reader.Get(seq, LogReader::kNoLimit);
      if (none != void_.end() && *none == seq) {
        ++none;
        ASSERT_EQ(record.status().code(), Code::kVoid) << "seq " << seq;
        EXPECT_EQ(record.status().first_lost_seq(), seq);
        EXPECT_GE(record.status().last_lost_seq(), seq);
        continue;
      }
      ASSERT_TRUE(record.ok()) << "seq " << seq << ": " << record.status().message();
      EXPECT_EQ(record->timestamp_ms, kTimeMs);
    }
    const Result<VerifyReport> report = Verify(DefaultFileSystem(), PathOf("log"));
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->state, RecoveryState::kClean);
  }

  std::vector<uint64_t> void_;
};

INSTANTIATE_TEST_SUITE_P(Strategies, RestoredVoidTest,
                         testing::Values(Strategy::kAuto, Strategy::kMmap, Strategy::kPwrite,
                                         Strategy::kDirect),
                         NameOfStrategy);

TEST_P(RestoredVoidTest, TakesSeqsThatHoldNoRecord) {
  std::unique_ptr<Log> log = Open(Restored());
  ASSERT_NE(log, nullptr);
  AppendVoid(*log, 3);
  for (int i = 0; i < 10; ++i) AppendRecord(*log);
  AppendVoid(*log, 1);
  AppendVoid(*log, 2);
  AppendRecord(*log);
  EXPECT_EQ(log->Stats().appended_records, 11u);
  // Longer than a segment holds.
  for (int i = 0; i < 6; ++i) AppendVoid(*log, Log::kMaxVoidSeqs);
  AppendRecord(*log);
  AppendVoid(*log, 5);
  const uint64_t next_seq = log->next_seq();
  ASSERT_TRUE(log->Sync(Level::kSync).ok());
  ExpectAsAppended(next_seq);
  Close(std::move(log));
  ExpectAsAppended(next_seq);
  log = Open(SmallOptions(GetParam()));
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->recovery().state, RecoveryState::kClean);
  EXPECT_EQ(log->next_seq(), next_seq);
  AppendRecord(*log);
  Close(std::move(log));
  ExpectAsAppended(next_seq);
}

TEST_P(RestoredVoidTest, IsOfASegmentThatMayHoldIt) {
  std::unique_ptr<Log> log = Open(Restored());
  ASSERT_NE(log, nullptr);
  AppendVoid(*log, 3);
  Close(std::move(log));
  Result<std::unique_ptr<Directory>> directory =
      DefaultFileSystem().OpenDirectory(PathOf("log"), false);
  ASSERT_TRUE(directory.ok());
  const Result<OpenedSegment> opened = OpenSegment(**directory, 0, OpenMode::kRead);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->header.version, kSharedVersion);
}

// A record appended after the truncation has a seq that the void had, and must be found there.
TEST_P(RestoredVoidTest, IsShortenedByATruncationThatFallsIntoIt) {
  for (uint64_t at = 0; at <= 7; ++at) {
    std::filesystem::remove_all(PathOf("log"));
    void_.clear();
    std::unique_ptr<Log> log = Open(Restored());
    ASSERT_NE(log, nullptr);
    AppendRecord(*log);
    AppendVoid(*log, 5);
    AppendRecord(*log);
    ASSERT_TRUE(log->Sync(Level::kSync).ok());
    const Result<std::shared_ptr<TruncateJob>> begun = log->BeginTruncate(at);
    ASSERT_TRUE(begun.ok()) << begun.status().message();
    (*begun)->Await();
    ASSERT_TRUE(log->FinishTruncate(**begun).ok());
    EXPECT_EQ(log->next_seq(), at);
    while (!void_.empty() && void_.back() >= at) void_.pop_back();
    for (int i = 0; i < 3; ++i) AppendRecord(*log);
    ASSERT_TRUE(log->Sync(Level::kSync).ok());
    ExpectAsAppended(at + 3);
    log.reset();
    log = Open(SmallOptions(GetParam()));
    ASSERT_NE(log, nullptr);
    EXPECT_EQ(log->recovery().state, RecoveryState::kClean);
    EXPECT_EQ(log->next_seq(), at + 3);
    Close(std::move(log));
    ExpectAsAppended(at + 3);
  }
}

TEST_P(RestoredVoidTest, IsRefusedInAnyOtherLogAndBeyondItsBound) {
  std::unique_ptr<Log> log = Open(Restored());
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->WriteVoid(0, kTimeMs).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(log->WriteVoid(Log::kMaxVoidSeqs + 1, kTimeMs).status().code(), Code::kInvalidArgument);
  Close(std::move(log));
  log = Open(SmallOptions(GetParam()));
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->WriteVoid(1, kTimeMs).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(log->next_seq(), 0u);
  Close(std::move(log));
}

}  // namespace
}  // namespace durlog
