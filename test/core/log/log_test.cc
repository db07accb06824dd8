#include "log/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "inspect/frames.h"
#include "inspect/verify.h"
#include "log_test_folder.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

constexpr Level kLevels[] = {Level::kMemory, Level::kAsync, Level::kSync, Level::kFull};

class LogTest : public LogTestFolder, public testing::WithParamInterface<Strategy> {
 protected:
  LogOptions Options() const { return SmallOptions(GetParam()); }
  // In the log's first segment.
  void FlipByteOfRecord(uint64_t seq) {
    const Result<std::vector<FrameReport>> frames =
        ListFrames(DefaultFileSystem(), PathOf("log"), SegmentName(0), 0, 10000);
    ASSERT_TRUE(frames.ok()) << frames.status().message();
    const auto record = std::find_if(frames->begin(), frames->end(), [seq](const FrameReport& f) {
      return f.fields.state == FrameState::kCommitted && f.fields.seq == seq;
    });
    ASSERT_NE(record, frames->end());
    Result<std::unique_ptr<Directory>> directory =
        DefaultFileSystem().OpenDirectory(PathOf("log"), false);
    ASSERT_TRUE(directory.ok());
    Result<std::unique_ptr<File>> file = (*directory)->Open(SegmentName(0), OpenMode::kReadWrite);
    ASSERT_TRUE(file.ok());
    uint8_t byte = 0;
    const uint64_t at = record->offset + kFrameHeaderBytes;
    ASSERT_TRUE((*file)->ReadAt(at, &byte, 1).ok());
    byte ^= 1;
    ASSERT_TRUE((*file)->WriteAt(at, &byte, 1).ok());
  }
};

INSTANTIATE_TEST_SUITE_P(Strategies, LogTest,
                         testing::Values(Strategy::kAuto, Strategy::kMmap, Strategy::kPwrite,
                                         Strategy::kDirect),
                         NameOfStrategy);

TEST_P(LogTest, AReopenReadsRecordsOfAllLevels) {
  std::unique_ptr<Log> log = Open(Options());
  for (int round = 0; round < 4; ++round) {
    for (const Level level : kLevels) AppendMany(*log, 50, level);
  }
  Settle(*log);
  EXPECT_GT(listener_.rotated.size(), 3u);
  Close(std::move(log));
  EXPECT_TRUE(listener_.failures.empty());
  ExpectRecords(0, 800);
  log = Open(Options());
  EXPECT_EQ(log->next_seq(), 800u);
  EXPECT_EQ(log->recovery().state, RecoveryState::kClean);
  AppendMany(*log, 50, Level::kSync);
  Close(std::move(log));
  ExpectRecords(0, 850);
}

TEST_P(LogTest, ALogThatIsRestoredHasTheUuidAndTheFirstSeqItWasGiven) {
  LogOptions options = Options();
  options.restored.uuid = LogUuid{1, 2, 3};
  options.restored.first_seq = 1000;
  std::unique_ptr<Log> log = Open(options);
  Close(std::move(log));
  // Empty, and killed before its first record.
  options.restored = RestoredIdentity{};
  log = Open(options);
  EXPECT_EQ(log->uuid(), (LogUuid{1, 2, 3}));
  EXPECT_EQ(log->first_seq(), 1000u);
  EXPECT_EQ(log->next_seq(), 1000u);
  EXPECT_EQ(log->ReachedEnd(Level::kSync), 1000u);
  const Result<uint64_t> seq = log->AppendSync(AsBytes("first"), Level::kSync);
  ASSERT_TRUE(seq.ok());
  EXPECT_EQ(*seq, 1000u);
  Close(std::move(log));
}

TEST_P(LogTest, TheLastSeqIsAppendedAndNoneAfterIt) {
  LogOptions options = Options();
  options.restored.uuid = LogUuid{1, 2, 3};
  options.restored.first_seq = kMaxSeq - 3;
  std::unique_ptr<Log> log = Open(options);
  ASSERT_TRUE(log->AppendSync(AsBytes("first"), Level::kSync).ok());
  const std::string text = "abc";
  const PayloadParts records[] = {AsBytes(text), AsBytes(text), AsBytes(text)};
  EXPECT_EQ(log->AppendBatch(records, 3, Level::kSync).status().code(), Code::kOutOfRange);
  EXPECT_EQ(*log->AppendBatch(records, 2, Level::kSync), kMaxSeq - 2);
  EXPECT_EQ(log->Append(records[0].rest, Level::kMemory).status().code(), Code::kOutOfRange);
  EXPECT_EQ(log->Write(records[0].rest).status().code(), Code::kOutOfRange);
  EXPECT_EQ(log->WriteVoid(1, 0).status().code(), Code::kOutOfRange);
  Settle(*log);
  Close(std::move(log));
  log = Open(Options());
  EXPECT_EQ(log->next_seq(), kMaxSeq);
  EXPECT_EQ(log->Append(records[0].rest, Level::kSync).status().code(), Code::kOutOfRange);
  Close(std::move(log));
}

TEST_P(LogTest, ALevelCoversAllEarlierRecords) {
  std::unique_ptr<Log> log = Open(Options());
  AppendMany(*log, 30, Level::kMemory);
  const Result<uint64_t> seq = log->AppendSync(AsBytes("last"), Level::kSync);
  ASSERT_TRUE(seq.ok());
  for (const Level level : {Level::kMemory, Level::kAsync, Level::kSync}) {
    EXPECT_GT(log->ReachedEnd(level), *seq);
  }
  log->RequestSync(Level::kFull);
  Settle(*log);
  EXPECT_GT(log->ReachedEnd(Level::kFull), *seq);
  Close(std::move(log));
}

TEST_P(LogTest, AReaderSeesAWriteThatHasReturned) {
  std::unique_ptr<Log> log = Open(Options());
  for (uint64_t seq = 0; seq < 20; ++seq) {
    const std::string payload = PayloadOf(seq);
    const Result<uint64_t> got = log->Write(AsBytes(payload));
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_GT(log->ReachedEnd(Level::kMemory), seq);
    ExpectRecords(0, seq + 1);
  }
  Close(std::move(log));
}

TEST_P(LogTest, ABatchIsReadAsAWhole) {
  std::unique_ptr<Log> log = Open(Options());
  while (log->next_seq() < 200) {
    std::string payloads[7];
    PayloadParts bytes[7];
    for (uint64_t i = 0; i < 7; ++i) {
      payloads[i] = PayloadOf(log->next_seq() + i);
      bytes[i] = AsBytes(payloads[i]);
    }
    const Result<uint64_t> first = log->AppendBatch(bytes, 7, Level::kSync);
    if (!first.ok()) {
      ASSERT_EQ(first.status().code(), Code::kBackpressure);
    }
    Settle(*log);
  }
  const uint64_t end = log->next_seq();
  for (const uint64_t first_seq : listener_.rotated) EXPECT_EQ(first_seq % 7, 0u);
  Close(std::move(log));
  ExpectRecords(0, end);
}

TEST_P(LogTest, ARecordInTwoPartsIsReadAsOne) {
  LogOptions options = Options();
  options.max_record_bytes = 16 << 20;
  options.segment_bytes = 16 << 20;
  options.max_pending_bytes = 32 << 20;
  std::unique_ptr<Log> log = Open(options);
  // The last record is longer than the part of the file that is mapped.
  std::vector<std::string> expected;
  for (const size_t rest : {size_t{0}, size_t{1}, size_t{5000}, size_t{40000}}) {
    const std::string head(17, 'h');
    const std::string tail(rest, 't');
    const PayloadParts parts[] = {{AsBytes(head), AsBytes(tail)}, {AsBytes(head), Bytes{}}};
    ASSERT_TRUE(log->AppendBatch(parts, 2, Level::kSync).ok());
    Settle(*log);
    expected.push_back(head + tail);
    expected.push_back(head);
  }
  Close(std::move(log));
  const std::vector<ReadRecord> records = ReadRecords(0);
  ASSERT_EQ(records.size(), expected.size());
  for (size_t i = 0; i < records.size(); ++i) EXPECT_TRUE(records[i].payload == expected[i]) << i;
}

TEST_P(LogTest, BadInputIsRefusedAndChangesNothing) {
  LogOptions options = Options();
  options.max_record_bytes = 1000;
  std::unique_ptr<Log> log = Open(options);
  const std::string longest(1000, 'x');
  const std::string too_long(1001, 'x');
  EXPECT_EQ(log->Append(Bytes{}, Level::kSync).status().code(), Code::kRecordEmpty);
  EXPECT_EQ(log->Append(AsBytes(too_long), Level::kSync).status().code(), Code::kRecordTooLarge);
  const std::vector<PayloadParts> batch(100, AsBytes(longest));
  EXPECT_EQ(log->AppendBatch(batch.data(), 100, Level::kSync).status().code(),
            Code::kBatchTooLarge);
  EXPECT_EQ(log->AppendBatch(batch.data(), 0, Level::kSync).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(log->next_seq(), 0u);
  EXPECT_TRUE(log->AppendSync(AsBytes(longest), Level::kSync).ok());
  Close(std::move(log));
}

TEST_P(LogTest, ATrimOutlivesAReopen) {
  std::unique_ptr<Log> log = Open(Options());
  AppendMany(*log, 600, Level::kSync);
  Settle(*log);
  const std::shared_ptr<TrimJob> trim = log->BeginTrim(400);
  ASSERT_NE(trim, nullptr);
  trim->RunOnce();
  log->FinishTrim(*trim);
  const uint64_t first = log->first_seq();
  EXPECT_GT(first, 0u);
  EXPECT_LE(first, 400u);
  AppendMany(*log, 300, Level::kSync);
  Close(std::move(log));
  log = Open(Options());
  EXPECT_EQ(log->first_seq(), first);
  EXPECT_EQ(log->next_seq(), 900u);
  Close(std::move(log));
  ExpectRecords(first, 900);
}

TEST_P(LogTest, ATruncatedEndNeverComesBack) {
  std::unique_ptr<Log> log = Open(Options());
  AppendMany(*log, 400, Level::kMemory);
  Settle(*log);
  for (const uint64_t end : {uint64_t{390}, uint64_t{150}, uint64_t{0}}) {
    const Result<std::shared_ptr<TruncateJob>> job = log->BeginTruncate(end);
    ASSERT_TRUE(job.ok()) << job.status().message();
    EXPECT_EQ(log->Append(AsBytes("x"), Level::kSync).status().code(), Code::kBackpressure);
    (*job)->RunOnce();
    ASSERT_TRUE(log->FinishTruncate(**job).ok());
    EXPECT_EQ(log->next_seq(), end);
    ExpectRecords(0, end);
  }
  AppendMany(*log, 100, Level::kSync);
  Close(std::move(log));
  log = Open(Options());
  EXPECT_EQ(log->next_seq(), 100u);
  Close(std::move(log));
  ExpectRecords(0, 100);
}

TEST_P(LogTest, ATruncationKeepsTheProofOfSyncs) {
  LogOptions options = Options();
  options.segment_bytes = 1 << 20;
  std::unique_ptr<Log> log = Open(options);
  AppendMany(*log, 1100, Level::kSync);
  Close(std::move(log));
  log = Open(options);
  const Result<std::shared_ptr<TruncateJob>> job = log->BeginTruncate(1000);
  ASSERT_TRUE(job.ok()) << job.status().message();
  (*job)->RunOnce();
  ASSERT_TRUE(log->FinishTruncate(**job).ok());
  log.reset();  // as kill -9: nothing is marked or synced
  FlipByteOfRecord(500);
  const Result<std::unique_ptr<Log>> damaged =
      Log::Open(DefaultFileSystem(), PathOf("log"), options);
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.status().code(), Code::kCorrupt);
  EXPECT_EQ(damaged.status().first_lost_seq(), 500u);
}

TEST_P(LogTest, ALogThatWasNeverClosedIsWhole) {
  std::unique_ptr<Log> log = Open(Options());
  AppendMany(*log, 300, Level::kAsync);
  Settle(*log);
  log.reset();
  log = Open(Options());
  EXPECT_EQ(log->recovery().state, RecoveryState::kClean);
  EXPECT_EQ(log->next_seq(), 300u);
  Close(std::move(log));
  ExpectRecords(0, 300);
}

TEST_P(LogTest, ACloseMarksEverythingAsSynced) {
  std::unique_ptr<Log> log = Open(Options());
  AppendMany(*log, 10, Level::kMemory);
  Close(std::move(log));
  const Result<LogBounds> bounds = ReadBounds(DefaultFileSystem(), PathOf("log"));
  ASSERT_TRUE(bounds.ok());
  EXPECT_EQ(bounds->synced_end, 10u);
  EXPECT_EQ(bounds->next_seq, 10u);
}

TEST_P(LogTest, AClosedLogTakesNothing) {
  std::unique_ptr<Log> log = Open(Options());
  log->PrepareClose();
  EXPECT_EQ(log->Append(AsBytes("x"), Level::kSync).status().code(), Code::kClosed);
  EXPECT_EQ(log->BeginTruncate(0).status().code(), Code::kClosed);
  Settle(*log);
}

TEST_P(LogTest, AFullQueueRefusesUntilItDrains) {
  LogOptions options = Options();
  options.max_pending_bytes = 40000;
  std::unique_ptr<Log> log = Open(options);
  const std::string payload(4000, 'p');
  uint64_t taken = 0;
  Code refusal = Code::kOk;
  while (refusal == Code::kOk && taken < 1000) {
    const Result<uint64_t> seq = log->Append(AsBytes(payload), Level::kSync);
    refusal = seq.status().code();
    if (seq.ok()) ++taken;
  }
  EXPECT_EQ(refusal, Code::kBackpressure);
  const Status refused = log->Append(AsBytes(payload), Level::kSync).status();
  EXPECT_NE(refused.message().find("maxPendingBytes is 40000"), std::string::npos)
      << refused.message();
  EXPECT_LE(log->pending_bytes(), 40000u);
  EXPECT_LE(taken, 10u);
  Settle(*log);
  EXPECT_EQ(log->pending_bytes(), 0u);
  EXPECT_TRUE(log->Append(AsBytes(payload), Level::kSync).ok());
  EXPECT_EQ(log->next_seq(), taken + 1);
  Close(std::move(log));
}

TEST_P(LogTest, ASecondWriterLearnsTheOwner) {
  const std::unique_ptr<Log> log = Open(Options());
  const Result<std::unique_ptr<Log>> second =
      Log::Open(DefaultFileSystem(), PathOf("log"), Options());
  EXPECT_EQ(second.status().code(), Code::kLocked);
  EXPECT_EQ(second.status().owner_pid(), getpid());
}

TEST_P(LogTest, AnotherThreadReadsEachRecordOnceInOrder) {
  std::unique_ptr<Log> log = Open(Options());
  std::atomic<bool> finished{false};
  uint64_t seen = 0;
  std::thread reader([&] {
    Result<std::unique_ptr<LogReader>> log_reader =
        LogReader::Open(DefaultFileSystem(), PathOf("log"), 0);
    ASSERT_TRUE(log_reader.ok());
    std::vector<uint8_t> buffer(64 << 10);
    std::vector<ReadEntry> entries(256);
    for (;;) {
      const bool last_look = finished.load();
      const Result<ReadBatch> batch =
          (*log_reader)
              ->Next(buffer.data(), buffer.size(), entries.data(), 256, LogReader::kNoLimit);
      ASSERT_TRUE(batch.ok()) << batch.status().message();
      for (size_t i = 0; i < batch->count; ++i) {
        const uint8_t* const at = buffer.data() + entries[i].offset;
        ASSERT_EQ(batch->first_seq + i, seen);
        ASSERT_EQ(std::string(at, at + entries[i].length), PayloadOf(seen));
        ++seen;
      }
      if (batch->count == 0 && last_look) return;
    }
  });
  for (int round = 0; round < 10; ++round) {
    for (const Level level : kLevels) AppendMany(*log, 40, level);
  }
  Settle(*log);
  finished = true;
  reader.join();
  EXPECT_EQ(seen, 1600u);
  Close(std::move(log));
}

TEST_P(LogTest, VerifyBesideAWriterKnowsWhatIsSynced) {
  std::unique_ptr<Log> log = Open(Options());
  std::atomic<bool> finished{false};
  std::thread verifier([&] {
    while (!finished.load()) {
      const Result<VerifyReport> report = Verify(DefaultFileSystem(), PathOf("log"));
      ASSERT_TRUE(report.ok()) << report.status().message();
      EXPECT_NE(report->state, RecoveryState::kCorrupt);
    }
  });
  AppendMany(*log, 1500, Level::kSync);
  finished = true;
  verifier.join();
  Close(std::move(log));
}

}  // namespace
}  // namespace durlog
