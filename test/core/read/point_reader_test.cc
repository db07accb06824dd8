#include "read/point_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "log_test_folder.h"
#include "memory_file_system.h"
#include "read/position_index.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

constexpr PointReader::Writer kOwn = PointReader::Writer::kOwn;
constexpr PointReader::Writer kForeign = PointReader::Writer::kForeign;

std::string TextOf(const PointRecord& record) {
  const Bytes payload = record.payload();
  return std::string(payload.data, payload.data + payload.size);
}

class PointReaderTest : public LogTestFolder {
 protected:
  // The payload, or the error's code as text. The cached way finds the same record, or nothing.
  std::string Get(PointReader& reader, uint64_t seq, uint64_t limit = PointReader::kNoLimit) {
    const std::optional<PointRecord> cached = reader.GetCached(seq);
    const Result<PointRecord> record = reader.Get(seq, limit);
    if (cached) {
      EXPECT_EQ(record.ok() ? TextOf(*record) : "an error", TextOf(*cached)) << seq;
    }
    if (record.ok()) return TextOf(*record);
    if (record.status().code() == Code::kOutOfRange) return "out of range";
    if (record.status().code() == Code::kCorrupt) return "corrupt";
    return record.status().message();
  }
  void ExpectAll(PointReader& reader, const Log& log) {
    const uint64_t end = log.ReachedEnd(Level::kMemory);
    for (uint64_t i = log.first_seq(); i < end; ++i) {
      const uint64_t seq = log.first_seq() + i * 7919 % (end - log.first_seq());
      ASSERT_EQ(Get(reader, seq, end), PayloadOf(seq)) << seq;
    }
  }
  void Truncate(Log& log, uint64_t next_seq) {
    Result<std::shared_ptr<TruncateJob>> job = log.BeginTruncate(next_seq);
    ASSERT_TRUE(job.ok()) << job.status().message();
    (*job)->Await();
    ASSERT_TRUE(log.FinishTruncate(**job).ok());
  }
  void Trim(Log& log, uint64_t seq) {
    const std::shared_ptr<TrimJob> job = log.BeginTrim(seq);
    ASSERT_TRUE(job);
    job->Await();
    log.FinishTrim(*job);
  }
  void AppendText(Log& log, uint64_t count, const std::string& text) {
    for (uint64_t i = 0; i < count; ++i) {
      const std::string payload = text + std::to_string(log.next_seq());
      ASSERT_TRUE(Append(log, payload, Level::kSync).ok());
    }
    Settle(log);
  }
  // Flips a bit at `at` bytes into the only segment's first place where `text` stands.
  void Damage(uint64_t first_seq, const std::string& text, size_t at) {
    auto directory = DefaultFileSystem().OpenDirectory(PathOf("log"), false);
    ASSERT_TRUE(directory.ok());
    auto file = (*directory)->Open(SegmentName(first_seq), OpenMode::kReadWrite);
    ASSERT_TRUE(file.ok());
    std::string bytes(64 << 10, '\0');
    const Result<size_t> read = (*file)->ReadAt(0, bytes.data(), bytes.size());
    ASSERT_TRUE(read.ok());
    const size_t found = bytes.find(text);
    ASSERT_NE(found, std::string::npos);
    const char flipped = static_cast<char>(bytes[found + at] ^ 1);
    ASSERT_TRUE((*file)->WriteAt(found + at, &flipped, 1).ok());
  }
};

class PointReaderStrategyTest : public PointReaderTest,
                                public testing::WithParamInterface<Strategy> {};
INSTANTIATE_TEST_SUITE_P(Strategies, PointReaderStrategyTest,
                         testing::Values(Strategy::kAuto, Strategy::kMmap, Strategy::kPwrite,
                                         Strategy::kDirect));

TEST_P(PointReaderStrategyTest, ReadsInAnyOrderWhileTheLogGrows) {
  std::unique_ptr<Log> log = Open(SmallOptions(GetParam()));
  PointReader own(DefaultFileSystem(), PathOf("log"), kOwn);
  PointReader foreign(DefaultFileSystem(), PathOf("log"), kForeign);
  for (int round = 0; round < 4; ++round) {
    AppendMany(*log, 100, round % 2 == 0 ? Level::kMemory : Level::kSync);
    Settle(*log);
    ExpectAll(own, *log);
    ExpectAll(foreign, *log);
  }
  EXPECT_GT(listener_.rotated.size(), 2u);
  EXPECT_EQ(Get(own, 400), "out of range");
  EXPECT_EQ(Get(foreign, 400), "out of range");
  EXPECT_EQ(Get(foreign, 4000), "out of range");
  Close(std::move(log));
  PositionIndex::Shared().Clear();
  for (uint64_t seq = 0; seq < 400; ++seq) ASSERT_EQ(Get(foreign, seq), PayloadOf(seq));
}

TEST_F(PointReaderTest, RecordLargerThanTheWindowIsRead) {
  LogOptions options = SmallOptions(Strategy::kPwrite);
  options.segment_bytes = 4 << 20;
  options.max_record_bytes = 1 << 20;
  std::unique_ptr<Log> log = Open(options);
  const std::string large(900 << 10, 'L');
  for (const std::string& text : {std::string("before"), large, std::string("behind")}) {
    ASSERT_TRUE(Append(*log, text, Level::kSync).ok());
  }
  Settle(*log);
  PointReader reader(DefaultFileSystem(), PathOf("log"), kOwn);
  for (const bool known : {true, false}) {
    if (!known) PositionIndex::Shared().Clear();
    EXPECT_EQ(Get(reader, 2), "behind");
    EXPECT_EQ(Get(reader, 1), large);
    EXPECT_EQ(Get(reader, 0), "before");
  }
  Close(std::move(log));
}

class PointReaderOfTest : public PointReaderTest,
                          public testing::WithParamInterface<PointReader::Writer> {};
INSTANTIATE_TEST_SUITE_P(Writers, PointReaderOfTest, testing::Values(kOwn, kForeign));

TEST_P(PointReaderOfTest, TheCachedWayFindsTheRecordOrReturnsNothing) {
  LogOptions options = SmallOptions(Strategy::kPwrite);
  options.segment_bytes = 4 << 20;
  options.max_record_bytes = 1 << 20;
  std::unique_ptr<Log> log = Open(options);
  const std::string large(900 << 10, 'L');
  for (const std::string& text : {std::string("before"), large, std::string("behind")}) {
    ASSERT_TRUE(Append(*log, text, Level::kSync).ok());
  }
  Settle(*log);
  PointReader reader(DefaultFileSystem(), PathOf("log"), GetParam());
  EXPECT_FALSE(reader.GetCached(0));  // the segments have not been listed
  ASSERT_EQ(Get(reader, 2), "behind");
  const std::optional<PointRecord> found = reader.GetCached(0);
#ifdef __linux__
  ASSERT_TRUE(found);
#endif
  if (found) {
    EXPECT_EQ(TextOf(*found), "before");
  }
  EXPECT_FALSE(reader.GetCached(1));  // longer than one piece
  EXPECT_FALSE(reader.GetCached(3));
  reader.Forget();
  EXPECT_FALSE(reader.GetCached(0));
  Close(std::move(log));
}

TEST_F(PointReaderTest, TrimmedRecordIsOutOfRange) {
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kDirect));
  AppendMany(*log, 400, Level::kSync);
  Settle(*log);
  PointReader own(DefaultFileSystem(), PathOf("log"), kOwn);
  PointReader foreign(DefaultFileSystem(), PathOf("log"), kForeign);
  ExpectAll(own, *log);
  ExpectAll(foreign, *log);
  own.Forget();
  Trim(*log, 300);
  const uint64_t first_seq = log->first_seq();
  ASSERT_GT(first_seq, 0u);
  for (int round = 0; round < 2; ++round) {
    for (uint64_t seq = 0; seq < first_seq; ++seq) {
      ASSERT_EQ(Get(own, seq, log->next_seq()), "out of range");
      ASSERT_EQ(Get(foreign, seq), "out of range");
    }
    ExpectAll(own, *log);
    ExpectAll(foreign, *log);
    // The trimmed files come back under new names.
    AppendMany(*log, 400, Level::kSync);
    Settle(*log);
  }
  EXPECT_GT(log->Stats().recycled, 0u);
  Close(std::move(log));
}

TEST_F(PointReaderTest, TruncationThenAppendReadsTheNewRecord) {
  for (const Strategy strategy : {Strategy::kMmap, Strategy::kPwrite, Strategy::kDirect}) {
    std::unique_ptr<Log> log = Open(SmallOptions(strategy));
    AppendText(*log, 4000, "old ");
    PointReader own(DefaultFileSystem(), PathOf("log"), kOwn);
    PointReader foreign(DefaultFileSystem(), PathOf("log"), kForeign);
    for (uint64_t seq = 0; seq < 4000; ++seq) {
      ASSERT_EQ(Get(own, seq), "old " + std::to_string(seq));
      ASSERT_EQ(Get(foreign, seq), "old " + std::to_string(seq));
    }
    // The same length in its decimal digits: segments end, and begin, where the old ones did.
    own.Forget();
    Truncate(*log, 1000);
    EXPECT_EQ(Get(own, 1000), "out of range");
    EXPECT_EQ(Get(foreign, 3999), "out of range");
    AppendText(*log, 3000, "new ");
    for (uint64_t seq = 1000; seq < 4000; ++seq) {
      ASSERT_EQ(Get(own, seq), "new " + std::to_string(seq));
      ASSERT_EQ(Get(foreign, seq), "new " + std::to_string(seq));
    }
    EXPECT_EQ(Get(own, 999), "old 999");
    Truncate(*log, 0);
    AppendText(*log, 100, "short ");
    EXPECT_EQ(Get(foreign, 99), "short 99");
    EXPECT_EQ(Get(foreign, 100), "out of range");
    Truncate(*log, 0);
    Close(std::move(log));
  }
}

TEST_F(PointReaderTest, DamagedRecordIsCorruptItsNeighboursAreRead) {
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite));
  AppendText(*log, 100, "record number ");
  Close(std::move(log));
  Damage(0, "record number 50", 3);
  for (const bool known : {true, false}) {
    if (!known) PositionIndex::Shared().Clear();
    PointReader reader(DefaultFileSystem(), PathOf("log"), kForeign);
    const Result<PointRecord> record = reader.Get(50, PointReader::kNoLimit);
    ASSERT_EQ(record.status().code(), Code::kCorrupt);
    EXPECT_EQ(record.status().first_lost_seq(), 50u);
    EXPECT_EQ(record.status().last_lost_seq(), 50u);
    EXPECT_EQ(Get(reader, 49), "record number 49");
    EXPECT_EQ(Get(reader, 51), "record number 51");
  }
}

TEST_F(PointReaderTest, DamagedBatchIsNotRead) {
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite));
  AppendText(*log, 10, "before ");
  const std::string texts[] = {"batch first", "batch second", "batch third"};
  const PayloadParts batch[] = {AsBytes(texts[0]), AsBytes(texts[1]), AsBytes(texts[2])};
  ASSERT_TRUE(log->AppendBatch(batch, 3, Level::kSync).ok());
  Settle(*log);
  AppendText(*log, 10, "behind ");
  PointReader reader(DefaultFileSystem(), PathOf("log"), kForeign);
  EXPECT_EQ(Get(reader, 10), "batch first");
  EXPECT_EQ(Get(reader, 12), "batch third");
  Close(std::move(log));
  Damage(0, "batch second", 3);
  for (uint64_t seq = 10; seq < 13; ++seq) EXPECT_EQ(Get(reader, seq), "corrupt") << seq;
  EXPECT_EQ(Get(reader, 9), "before 9");
  EXPECT_EQ(Get(reader, 13), "behind 13");
}

TEST_F(PointReaderTest, ARecordOfALargeBatchIsReadWithoutTheRestOfIt) {
  constexpr uint64_t kCount = 4000;
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < kCount; ++i) texts.push_back(std::to_string(i) + std::string(1000, 'x'));
  std::vector<PayloadParts> batch;
  for (const std::string& text : texts) batch.push_back(AsBytes(text));
  for (const bool noted_by_writer : {true, false}) {
    MemoryFileSystem disk;
    LogOptions options = SmallOptions(Strategy::kPwrite);
    options.segment_bytes = 8 << 20;
    options.max_pending_bytes = 8 << 20;
    Result<std::unique_ptr<Log>> log = Log::Open(disk, "memory", options);
    ASSERT_TRUE(log.ok());
    (*log)->Attach(&executor_, &listener_);
    ASSERT_TRUE((*log)->AppendBatch(batch.data(), batch.size(), Level::kSync).ok());
    Settle(**log);
    PointReader reader(disk, "memory", kForeign);
    if (!noted_by_writer) {
      PositionIndex::Shared().Clear();
      // The first read of an unknown part scans it, and notes positions on the way.
      ASSERT_TRUE(reader.Get(kCount - 1, PointReader::kNoLimit, kCount).ok());
    }
    uint64_t bytes_read = 0;
    disk.after_read = [&bytes_read](size_t bytes) { bytes_read += bytes; };
    for (const uint64_t seq : {uint64_t{3000}, uint64_t{17}, uint64_t{2000}, kCount - 1}) {
      ASSERT_TRUE(reader.Get(seq, PointReader::kNoLimit, kCount).ok());
      bytes_read = 0;
      const Result<PointRecord> record = reader.Get(seq, PointReader::kNoLimit, kCount);
      ASSERT_TRUE(record.ok()) << seq;
      EXPECT_EQ(TextOf(*record), texts[seq]);
      EXPECT_LT(bytes_read, 3 * PositionIndex::kSpacingBytes) << seq;
    }
    // Of what is not known to be acknowledged the whole batch is checked.
    bytes_read = 0;
    EXPECT_TRUE(reader.Get(2000, PointReader::kNoLimit).ok());
    EXPECT_GT(bytes_read, kCount * 1000);
    disk.after_read = nullptr;
    Close(std::move(*log));
  }
}

TEST_F(PointReaderTest, ReplacedLogIsRead) {
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite));
  AppendText(*log, 10, "first ");
  Close(std::move(log));
  PointReader reader(DefaultFileSystem(), PathOf("log"), kForeign);
  EXPECT_EQ(Get(reader, 5), "first 5");
  auto directory = DefaultFileSystem().OpenDirectory(PathOf("log"), false);
  ASSERT_TRUE(directory.ok());
  ASSERT_TRUE((*directory)->Remove(SegmentName(0)).ok());
  EXPECT_NE(Get(reader, 5), "first 5");
  log = Open(SmallOptions(Strategy::kPwrite));
  AppendText(*log, 10, "second ");
  EXPECT_EQ(Get(reader, 5), "second 5");
  Close(std::move(log));
}

// Sealed segments that were not read since the process began.
TEST_F(PointReaderTest, UnreadPartIsScannedOnce) {
  MemoryFileSystem disk;
  LogOptions options = SmallOptions(Strategy::kPwrite);
  options.segment_bytes = 1 << 20;
  Result<std::unique_ptr<Log>> opened = Log::Open(disk, "memory", options);
  ASSERT_TRUE(opened.ok());
  std::unique_ptr<Log> log = std::move(*opened);
  log->Attach(&executor_, &listener_);
  AppendMany(*log, 8000, Level::kMemory);
  Close(std::move(log));
  ASSERT_GT(disk.files.size(), 3u);
  uint64_t log_bytes = 0;
  for (const auto& [name, bytes] : disk.files) log_bytes += bytes->size();

  PositionIndex::Shared().Clear();
  PointReader reader(disk, "memory", kOwn);
  uint64_t bytes_read = 0;
  disk.after_read = [&bytes_read](size_t bytes) { bytes_read += bytes; };
  // From the end of each segment: the first get of each scans all of it.
  for (uint64_t seq = 8000; seq-- > 0;) ASSERT_EQ(Get(reader, seq), PayloadOf(seq));
  const uint64_t first_bytes = std::exchange(bytes_read, 0);
  for (uint64_t seq = 8000; seq-- > 0;) ASSERT_EQ(Get(reader, seq), PayloadOf(seq));
  const uint64_t second_bytes = bytes_read;
  // Once known, a get reads no more than from one position to the next.
  EXPECT_LT(second_bytes, 8000 * 2 * PositionIndex::kSpacingBytes);
  EXPECT_LT(first_bytes, second_bytes + 3 * log_bytes);
}

}  // namespace
}  // namespace durlog
