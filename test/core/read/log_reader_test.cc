// A reader whose writer changes the files between any two reads.
#include "read/log_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "memory_file_system.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

constexpr uint64_t kReadSegmentBytes = 64 << 10;

class LogReaderTest : public testing::Test {
 protected:
  static SegmentHeader HeaderWithSalt(uint64_t salt) {
    SegmentHeader header;
    header.salt = salt;
    header.segment_bytes = kReadSegmentBytes;
    return header;
  }
  static MemoryBytes EmptySegment(const SegmentHeader& header) {
    MemoryBytes image(kReadSegmentBytes, 0);
    EncodeSegmentHeader(header, image.data());
    return image;
  }
  // Where the frame ends.
  static size_t PutRecord(MemoryBytes* image, size_t at, const SegmentHeader& header, uint64_t seq,
                          const std::string& payload, bool batch_continues = false) {
    FrameFields fields;
    fields.state = FrameState::kCommitted;
    fields.length = static_cast<uint32_t>(payload.size());
    fields.seq = seq;
    fields.batch_continues = batch_continues;
    const Bytes bytes{reinterpret_cast<const uint8_t*>(payload.data()), payload.size()};
    EncodeFrame(fields, bytes, header.crc_seed(), image->data() + at);
    return at + static_cast<size_t>(fields.frame_bytes());
  }
  void SetSegment(uint64_t first_seq, MemoryBytes image) {
    disk_.files[SegmentName(first_seq)] = std::make_shared<MemoryBytes>(std::move(image));
  }
  // Reads as a follower does, and waits for Poll() if there is nothing to read. Returns the number
  // of records delivered in as many turns as a follower takes in a fraction of a second.
  uint64_t Follow(uint64_t limit = LogReader::kNoLimit) {
    Result<std::unique_ptr<LogReader>> reader = LogReader::Open(disk_, "memory", 0);
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    std::vector<uint8_t> buffer(16 << 10);
    std::vector<ReadEntry> entries(64);
    uint64_t delivered = 0;
    for (int turn = 0; turn < 40; ++turn) {
      if (turn > 0) {
        const Result<bool> more = (*reader)->Poll();
        EXPECT_TRUE(more.ok()) << more.status().message();
        if (!more.ok() || !*more) continue;
      }
      for (;;) {
        const Result<ReadBatch> batch =
            (*reader)->Next(buffer.data(), buffer.size(), entries.data(), entries.size(), limit);
        EXPECT_TRUE(batch.ok()) << batch.status().message();
        if (!batch.ok()) return delivered;
        if (batch->count == 0) break;
        delivered += batch->count;
      }
    }
    return delivered;
  }
  // Calls `change` once, after the n-th read from now on.
  void ChangeAfterRead(int n, std::function<void()> change) {
    disk_.after_read = [n, change = std::move(change)](size_t) mutable {
      if (--n == 0) change();
    };
  }
  // Segment 0 holds two records and is zeros from `missing` on, until the rest of `whole` gets
  // there after one of the reads.
  void ExpectBothWhereFinishedLater(const MemoryBytes& whole, size_t missing) {
    for (int moment = 1; moment <= kMoments; ++moment) {
      MemoryBytes unfinished = whole;
      std::fill(unfinished.begin() + static_cast<std::ptrdiff_t>(missing), unfinished.end(), 0);
      SetSegment(0, unfinished);
      ChangeAfterRead(moment, [&] { *disk_.files[SegmentName(0)] = whole; });
      EXPECT_EQ(Follow(), 2u) << "finished after read " << moment << ", missing from " << missing;
    }
  }

  static constexpr int kMoments = 16;
  MemoryFileSystem disk_;
};

TEST_F(LogReaderTest, DeliversAFrameFinishedAtAnyMoment) {
  const SegmentHeader header = HeaderWithSalt(7);
  MemoryBytes whole = EmptySegment(header);
  const size_t second = PutRecord(&whole, kSegmentHeaderBytes, header, 0, "the first");
  const size_t payload = second + kFrameHeaderBytes;
  const size_t end = PutRecord(&whole, second, header, 1, "the second, which is longer");
  // A reader may find: all except the payload's end, only the word, all except the payload.
  for (const size_t missing : {end - 8, second + 4, payload})
    ExpectBothWhereFinishedLater(whole, missing);
}

TEST_F(LogReaderTest, DeliversABatchFinishedLater) {
  const SegmentHeader header = HeaderWithSalt(7);
  MemoryBytes whole = EmptySegment(header);
  const size_t second = PutRecord(&whole, kSegmentHeaderBytes, header, 0, "the first", true);
  PutRecord(&whole, second, header, 1, "the second");
  for (const size_t missing : {second, second + kFrameHeaderBytes})
    ExpectBothWhereFinishedLater(whole, missing);
}

TEST_F(LogReaderTest, ABatchNeedsRoomForItsLongestRecord) {
  constexpr size_t kRecords = 5;
  const SegmentHeader header = HeaderWithSalt(7);
  MemoryBytes image = EmptySegment(header);
  size_t at = kSegmentHeaderBytes;
  std::vector<size_t> ends;
  for (size_t seq = 0; seq < kRecords; ++seq) {
    const std::string payload(10000, static_cast<char>('a' + seq));
    at = PutRecord(&image, at, header, seq, payload, seq + 1 < kRecords);
    ends.push_back(at);
  }
  const size_t longest_frame = ends[1] - ends[0];
  for (const bool whole : {true, false}) {
    if (!whole) std::fill(image.begin() + static_cast<std::ptrdiff_t>(ends[3]), image.end(), 0);
    SetSegment(0, image);
    for (const size_t max_entries : {size_t{1}, size_t{3}, size_t{64}}) {
      for (const size_t first_buffer :
           {size_t{1024}, longest_frame, size_t{30000}, size_t{1} << 20}) {
        const Result<std::unique_ptr<LogReader>> reader = LogReader::Open(disk_, "memory", 0);
        ASSERT_TRUE(reader.ok()) << reader.status().message();
        std::vector<uint8_t> buffer(first_buffer);
        std::vector<ReadEntry> entries(max_entries);
        uint64_t delivered = 0;
        for (;;) {
          const Result<ReadBatch> batch = (*reader)->Next(
              buffer.data(), buffer.size(), entries.data(), max_entries, LogReader::kNoLimit);
          ASSERT_TRUE(batch.ok()) << batch.status().message();
          if (batch->count == 0 && batch->need_bytes == 0) break;
          ASSERT_TRUE(batch->count > 0 || batch->need_bytes > buffer.size());
          EXPECT_LE(batch->need_bytes, longest_frame);
          if (batch->count == 0) buffer.resize(batch->need_bytes);
          delivered += batch->count;
        }
        EXPECT_EQ(delivered, whole ? kRecords : 0u) << max_entries << ' ' << first_buffer;
      }
    }
  }
}

TEST_F(LogReaderTest, AnAcknowledgedBatchIsReadOnce) {
  constexpr size_t kRecords = 300;
  const SegmentHeader header = HeaderWithSalt(7);
  MemoryBytes image = EmptySegment(header);
  size_t at = kSegmentHeaderBytes;
  for (size_t seq = 0; seq < kRecords; ++seq) {
    at = PutRecord(&image, at, header, seq, std::string(100, 'b'), seq + 1 < kRecords);
  }
  SetSegment(0, image);
  for (const uint64_t limit : {uint64_t{kRecords}, LogReader::kNoLimit}) {
    const Result<std::unique_ptr<LogReader>> reader = LogReader::Open(disk_, "memory", 0);
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    size_t read = 0;
    disk_.after_read = [&read](size_t bytes) { read += bytes; };
    std::vector<uint8_t> buffer(4 << 10);
    std::vector<ReadEntry> entries(64);
    for (uint64_t delivered = 0; delivered < kRecords;) {
      const Result<ReadBatch> batch =
          (*reader)->Next(buffer.data(), buffer.size(), entries.data(), entries.size(), limit);
      ASSERT_TRUE(batch.ok()) << batch.status().message();
      ASSERT_GT(batch->count, 0u);
      EXPECT_EQ(batch->first_seq, delivered);
      delivered += batch->count;
    }
    const size_t batch_bytes = at - kSegmentHeaderBytes;
    // Otherwise all of it is checked first.
    if (limit == kRecords) {
      EXPECT_LE(read, batch_bytes + batch_bytes / 4);
    } else {
      EXPECT_GT(read, 2 * batch_bytes);
    }
    disk_.after_read = nullptr;
  }
}

TEST_F(LogReaderTest, ALengthAloneAsksForNoBuffer) {
  constexpr size_t kFrameAt = kSegmentHeaderBytes;
  constexpr size_t kLength = 40000;
  const SegmentHeader header = HeaderWithSalt(7);
  MemoryBytes stale = EmptySegment(header);
  PutRecord(&stale, kFrameAt, header, 1000, std::string(kLength, 's'));
  MemoryBytes torn = EmptySegment(header);
  const size_t end = PutRecord(&torn, kFrameAt, header, 0, std::string(kLength, 't'));
  torn.resize(end - 8);
  for (const MemoryBytes& image : {stale, torn}) {
    SetSegment(0, image);
    const Result<std::unique_ptr<LogReader>> reader = LogReader::Open(disk_, "memory", 0);
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    std::vector<uint8_t> buffer(1024);
    ReadEntry entry;
    const Result<ReadBatch> batch =
        (*reader)->Next(buffer.data(), buffer.size(), &entry, 1, LogReader::kNoLimit);
    ASSERT_TRUE(batch.ok()) << batch.status().message();
    EXPECT_EQ(batch->count, 0u);
    EXPECT_EQ(batch->need_bytes, 0u);
  }
}

TEST_F(LogReaderTest, AVoidNeedsNoRoomInTheBuffer) {
  constexpr uint64_t kVoidSeqs = 1000;
  const SegmentHeader header = HeaderWithSalt(7);
  MemoryBytes image = EmptySegment(header);
  size_t at = PutRecord(&image, kSegmentHeaderBytes, header, 0, "before");
  EncodeVoid(1, kVoidSeqs, kVoidSeqs * kMinRecordFrameBytes - kFrameHeaderBytes, header.crc_seed(),
             image.data() + at);
  at += kVoidSeqs * kMinRecordFrameBytes;
  PutRecord(&image, at, header, 1 + kVoidSeqs, "after");
  SetSegment(0, image);
  const Result<std::unique_ptr<LogReader>> reader = LogReader::Open(disk_, "memory", 0);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  std::vector<uint8_t> buffer(1024);
  ReadEntry entry;
  for (const uint64_t seq : {uint64_t{0}, 1 + kVoidSeqs}) {
    const Result<ReadBatch> batch =
        (*reader)->Next(buffer.data(), buffer.size(), &entry, 1, LogReader::kNoLimit);
    ASSERT_TRUE(batch.ok()) << batch.status().message();
    ASSERT_EQ(batch->count, 1u);
    EXPECT_EQ(batch->first_seq, seq);
  }
}

TEST_F(LogReaderTest, AReaderThatLacksOneRecordReadsLittleMore) {
  constexpr size_t kFewBytes = 8 << 10;
  const SegmentHeader header = HeaderWithSalt(7);
  MemoryBytes image = EmptySegment(header);
  size_t at = kSegmentHeaderBytes;
  SetSegment(0, image);
  const Result<std::unique_ptr<LogReader>> reader = LogReader::Open(disk_, "memory", 0);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  size_t read = 0;
  disk_.after_read = [&read](size_t bytes) { read += bytes; };
  std::vector<uint8_t> buffer(kReadSegmentBytes);
  std::vector<ReadEntry> entries(64);
  const auto next = [&](uint64_t seq, size_t payload_bytes) {
    at = PutRecord(&image, at, header, seq, std::string(payload_bytes, 'r'));
    *disk_.files[SegmentName(0)] = image;
    read = 0;
    const Result<ReadBatch> batch =
        (*reader)->Next(buffer.data(), buffer.size(), entries.data(), entries.size(), seq + 1);
    ASSERT_TRUE(batch.ok()) << batch.status().message();
    ASSERT_EQ(batch->count, 1u);
    EXPECT_EQ(batch->first_seq, seq);
    EXPECT_EQ(entries[0].length, payload_bytes);
  };
  for (uint64_t seq = 0; seq < 3; ++seq) {
    next(seq, 100);
    EXPECT_LE(read, kFewBytes);
  }
  // The record is longer than the last one.
  next(3, 20'000);
  next(4, 100);
  EXPECT_LE(read, 2 * 21'000u);
  next(5, 100);
  EXPECT_LE(read, kFewBytes);
}

TEST_F(LogReaderTest, FollowsAReplacedEmptySegment) {
  const SegmentHeader later = HeaderWithSalt(8);
  MemoryBytes replacement = EmptySegment(later);
  PutRecord(&replacement, kSegmentHeaderBytes, later, 0, "the first");
  for (const uint64_t limit : {LogReader::kNoLimit, uint64_t{1}}) {
    for (int moment = 1; moment <= kMoments; ++moment) {
      SetSegment(0, EmptySegment(HeaderWithSalt(7)));
      disk_.after_read = nullptr;
      // A limit says that the record is there.
      if (limit != LogReader::kNoLimit && moment > 2) break;
      ChangeAfterRead(moment, [&] { SetSegment(0, replacement); });
      EXPECT_EQ(Follow(limit), 1u) << "replaced after read " << moment;
    }
  }
}

// A trim renames the segment to a spare, and the next use of the file overwrites its frames.
TEST_F(LogReaderTest, ARecycledSegmentIsReportedAsTrimmedWhenThePositionOfARecordIsKnown) {
  const SegmentHeader header = HeaderWithSalt(0x7e11);
  MemoryBytes image = EmptySegment(header);
  size_t end = kSegmentHeaderBytes;
  for (uint64_t seq = 0; seq < 40; ++seq) {
    end = PutRecord(&image, end, header, seq, std::string(1000, 'r'));
  }
  SetSegment(0, image);
  SetSegment(40, EmptySegment(header));
  EXPECT_EQ(Follow(40), 40u);  // notes positions
  Result<std::unique_ptr<LogReader>> reader = LogReader::Open(disk_, "memory", 39);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  std::fill(disk_.files[SegmentName(0)]->begin(), disk_.files[SegmentName(0)]->end(), uint8_t{0});
  disk_.files.erase(SegmentName(0));
  std::vector<uint8_t> buffer(16 << 10);
  std::vector<ReadEntry> entries(64);
  const Result<ReadBatch> batch =
      (*reader)->Next(buffer.data(), buffer.size(), entries.data(), entries.size(), 40);
  EXPECT_EQ(batch.status().code(), Code::kOutOfRange) << batch.status().message();
}

TEST_F(LogReaderTest, SalvagePassesOverASegmentThatIsTrimmedMeanwhile) {
  const SegmentHeader header = HeaderWithSalt(7);
  for (const uint64_t first_seq : {uint64_t{0}, uint64_t{10}, uint64_t{20}})
    SetSegment(first_seq, EmptySegment(header));
  const Result<std::unique_ptr<LogReader>> reader = LogReader::Open(disk_, "memory", 0);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  ChangeAfterRead(1, [&] { disk_.files.erase(SegmentName(10)); });
  const Result<std::optional<uint64_t>> next = (*reader)->SkipDamage();
  ASSERT_TRUE(next.ok()) << next.status().message();
  EXPECT_EQ(*next, 20u);
}

}  // namespace
}  // namespace durlog
