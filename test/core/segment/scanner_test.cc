#include "segment/scanner.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "memory_file_system.h"
#include "record/segment_header.h"

namespace durlog {
namespace {

constexpr uint32_t kSeed = 0x5eed;
constexpr uint64_t kStatedBytes = 1u << 20;

// Frames one after the other, behind a header that the scanner never looks at.
class ScannerTest : public testing::Test {
 protected:
  ScannerTest() : bytes_(std::make_shared<MemoryBytes>(kSegmentHeaderBytes, 0)), file_(bytes_) {}

  // Puts a frame at the end; its offset.
  size_t Put(FrameFields fields, const std::string& payload, uint32_t seed = kSeed) {
    const size_t at = bytes_->size();
    fields.length = static_cast<uint32_t>(payload.size());
    bytes_->resize(at + static_cast<size_t>(FrameBytes(payload.size())), 0);
    const Bytes data{reinterpret_cast<const uint8_t*>(payload.data()), payload.size()};
    EncodeFrame(fields, data, seed, bytes_->data() + at);
    return at;
  }
  size_t PutRecord(uint64_t seq, uint32_t unsynced = 0, bool continues = false,
                   uint32_t seed = kSeed) {
    FrameFields fields;
    fields.state = FrameState::kCommitted;
    fields.seq = seq;
    fields.unsynced = unsynced;
    fields.batch_continues = continues;
    return Put(fields, "record " + std::to_string(seq), seed);
  }
  size_t PutMarker(uint64_t seq) {
    FrameFields fields;
    fields.state = FrameState::kMarker;
    fields.seq = seq;
    return Put(fields, "");
  }
  void PutZeros(size_t count) { bytes_->resize(bytes_->size() + count, 0); }

  SegmentScan Scan(uint64_t first_seq = 0, bool recycled = false,
                   uint64_t segment_bytes = kStatedBytes) {
    Result<SegmentScan> scan =
        ScanSegment(file_, ScanContext{first_seq, kSeed, segment_bytes, recycled});
    EXPECT_TRUE(scan.ok());
    return scan.ok() ? *scan : SegmentScan{};
  }

  std::shared_ptr<MemoryBytes> bytes_;
  MemoryFile file_;
};

TEST_F(ScannerTest, RecordsThenFreeSpaceIsWhole) {
  for (uint64_t seq = 5; seq < 9; ++seq) PutRecord(seq, 2);
  const size_t end = bytes_->size();
  PutZeros(10000);
  const SegmentScan scan = Scan(5);
  EXPECT_FALSE(scan.damaged);
  EXPECT_EQ(scan.records, 4u);
  EXPECT_EQ(scan.next_seq, 9u);
  EXPECT_EQ(scan.end_offset, end);
  EXPECT_EQ(scan.synced_end, 6u);
}

TEST_F(ScannerTest, SegmentOfZerosIsWholeAndEmpty) {
  PutZeros(100000);
  const SegmentScan scan = Scan(7);
  EXPECT_FALSE(scan.damaged);
  EXPECT_EQ(scan.records, 0u);
  EXPECT_EQ(scan.next_seq, 7u);
  EXPECT_EQ(scan.end_offset, kSegmentHeaderBytes);
}

TEST_F(ScannerTest, WrongSeqEndsTheWholeRecords) {
  FrameFields first;
  first.state = FrameState::kCommitted;
  Put(first, std::string(100, 'x'));
  const size_t odd = PutRecord(2);
  const SegmentScan scan = Scan();
  EXPECT_TRUE(scan.damaged);
  EXPECT_EQ(scan.end_offset, odd);
  EXPECT_EQ(scan.records_after, 1u);
  EXPECT_EQ(scan.first_after, 2u);
}

TEST_F(ScannerTest, RecordsOfAnotherPlaceTakeTheirSeqs) {
  for (uint64_t seq = 20; seq < 23; ++seq) PutRecord(seq);
  for (const bool recycled : {false, true}) {
    const SegmentScan scan = Scan(5, recycled);
    EXPECT_TRUE(scan.misplaced);
    EXPECT_TRUE(scan.damaged) << "recycled: " << recycled;
    EXPECT_EQ(scan.records, 0u);
    EXPECT_EQ(scan.next_seq, 5u);
    EXPECT_EQ(scan.next_after, 23u);
  }
}

TEST_F(ScannerTest, UnfinishedBatchDoesNotCount) {
  PutRecord(0);
  const size_t batch = PutRecord(1, 0, true);
  PutRecord(2, 0, true);
  SegmentScan scan = Scan();
  EXPECT_TRUE(scan.damaged);
  EXPECT_EQ(scan.end_offset, batch);
  EXPECT_EQ(scan.next_seq, 1u);
  PutRecord(3, 0, false);
  scan = Scan();
  EXPECT_FALSE(scan.damaged);
  EXPECT_EQ(scan.next_seq, 4u);
}

TEST_F(ScannerTest, AFrameThatIsNoRecordMakesItsBatchTheDamage) {
  for (const FrameState state : {FrameState::kMarker, FrameState::kPadding, FrameState::kVoid}) {
    bytes_->resize(kSegmentHeaderBytes);
    PutRecord(0);
    const size_t batch = PutRecord(1, 0, true);
    FrameFields other;
    other.state = state;
    other.seq = 2;
    Put(other, "");
    PutRecord(2);
    PutZeros(1000);
    const SegmentScan scan = Scan();
    EXPECT_TRUE(scan.damaged);
    EXPECT_EQ(scan.damage, DecodeStatus::kBadState);
    EXPECT_EQ(scan.end_offset, batch);
    EXPECT_EQ(scan.next_seq, 1u);
  }
}

TEST_F(ScannerTest, TheBatchBitOfAFrameThatIsNoRecordMeansNothing) {
  for (const FrameState state : {FrameState::kMarker, FrameState::kPadding, FrameState::kVoid}) {
    bytes_->resize(kSegmentHeaderBytes);
    PutRecord(0);
    FrameFields other;
    other.state = state;
    other.seq = 1;
    other.batch_continues = true;
    Put(other, "");
    const size_t end = bytes_->size();
    PutZeros(1000);
    const SegmentScan scan = Scan();
    EXPECT_FALSE(scan.damaged);
    EXPECT_EQ(scan.end_offset, end);
  }
}

TEST_F(ScannerTest, BytesAfterAZeroWordAreDamageAfterTheEnd) {
  PutRecord(0);
  const size_t end = bytes_->size();
  PutZeros(1000);
  (*bytes_)[end + 4] = 1;
  const SegmentScan scan = Scan();
  EXPECT_TRUE(scan.damaged);
  EXPECT_EQ(scan.damage, DecodeStatus::kFree);
  EXPECT_EQ(scan.end_offset, end);
  EXPECT_FALSE(Scan(0, true).damaged);
}

TEST_F(ScannerTest, AFileMayEndWithinAHeaderOfZeros) {
  PutRecord(0);
  const size_t end = bytes_->size();
  for (size_t rest = 1; rest < kFrameHeaderBytes; ++rest) {
    bytes_->resize(end);
    PutZeros(rest);
    EXPECT_FALSE(Scan().damaged) << rest;
    bytes_->back() = 1;
    const SegmentScan scan = Scan();
    EXPECT_TRUE(scan.damaged) << rest;
    EXPECT_EQ(scan.end_offset, end) << rest;
  }
}

TEST_F(ScannerTest, MarkerCarriesTheSyncedEnd) {
  PutRecord(0, 0);
  PutMarker(1);
  const SegmentScan scan = Scan();
  EXPECT_EQ(scan.records, 1u);
  EXPECT_EQ(scan.synced_end, 1u);
  EXPECT_EQ(scan.next_seq, 1u);
  EXPECT_EQ(scan.end_offset, bytes_->size());
}

TEST_F(ScannerTest, ResyncFindsRecordsAndSyncedEnd) {
  PutRecord(0);
  const size_t damaged = PutRecord(1, 1);
  PutRecord(2, 1);
  PutRecord(3, 0);
  (*bytes_)[damaged + kFrameHeaderBytes] ^= 1;
  const SegmentScan scan = Scan();
  EXPECT_TRUE(scan.damaged);
  EXPECT_EQ(scan.damage, DecodeStatus::kBadCrc);
  EXPECT_EQ(scan.end_offset, damaged);
  EXPECT_EQ(scan.records_after, 2u);
  EXPECT_EQ(scan.first_after, 2u);
  EXPECT_EQ(scan.next_after, 4u);
  EXPECT_EQ(scan.synced_end, 3u);
}

TEST_F(ScannerTest, OnlyRecycledSegmentsHaveStaleBytes) {
  PutRecord(0);
  const size_t end = bytes_->size();
  for (uint64_t seq = 0; seq < 50; ++seq) PutRecord(seq, 0, false, kSeed + 1);
  EXPECT_TRUE(Scan(0, false).damaged);
  const SegmentScan recycled = Scan(0, true);
  EXPECT_FALSE(recycled.damaged);
  EXPECT_EQ(recycled.end_offset, end);
  EXPECT_EQ(recycled.next_seq, 1u);
}

TEST_F(ScannerTest, HoleOverStaleBytesIsDamage) {
  PutRecord(0);
  const size_t hole = PutRecord(1);
  PutRecord(2, 0);
  std::fill(bytes_->begin() + static_cast<std::ptrdiff_t>(hole),
            bytes_->begin() + static_cast<std::ptrdiff_t>(hole) + 16, uint8_t{0xaa});
  const SegmentScan scan = Scan(0, true);
  EXPECT_TRUE(scan.damaged);
  EXPECT_EQ(scan.synced_end, 2u);
  EXPECT_EQ(scan.records_after, 1u);
}

TEST_F(ScannerTest, StaleRecordsAreNeverAccepted) {
  for (uint64_t seq = 0; seq < 20; ++seq) PutRecord(seq, 0, false, kSeed ^ 0xffff);
  for (const bool recycled : {false, true}) {
    const SegmentScan scan = Scan(0, recycled);
    EXPECT_EQ(scan.records, 0u);
    EXPECT_EQ(scan.records_after, 0u);
    EXPECT_EQ(scan.next_seq, 0u);
    EXPECT_EQ(scan.synced_end, 0u);
  }
}

TEST_F(ScannerTest, NothingIsReadPastTheSegmentsEnd) {
  PutRecord(0);
  const size_t end = bytes_->size();
  PutZeros(8192 - end);
  PutRecord(1);
  const SegmentScan scan = Scan(0, false, 8192);
  EXPECT_FALSE(scan.damaged);
  EXPECT_EQ(scan.next_seq, 1u);
}

TEST_F(ScannerTest, PaddingIsSkippedAndTheSeqsGoOn) {
  PutRecord(0);
  FrameFields padding;
  padding.state = FrameState::kPadding;
  padding.length = 64;
  padding.seq = 1;
  const size_t at = bytes_->size();
  PutZeros(kFrameHeaderBytes + 64);
  EncodeFrame(padding, Bytes{}, kSeed, bytes_->data() + at);
  PutRecord(1);
  const SegmentScan scan = Scan();
  EXPECT_FALSE(scan.damaged);
  EXPECT_EQ(scan.next_seq, 2u);
}

TEST_F(ScannerTest, AVoidTakesItsSeqsAndClaimsNothing) {
  PutRecord(0);
  const size_t at = bytes_->size();
  PutZeros(96);
  EncodeVoid(1, 3, 72, kSeed, bytes_->data() + at);
  PutRecord(4, 4);
  const size_t seal = bytes_->size();
  PutZeros(kFrameHeaderBytes);
  EncodeVoid(5, 0, 0, kSeed, bytes_->data() + seal);
  const SegmentScan scan = Scan();
  EXPECT_FALSE(scan.damaged);
  EXPECT_EQ(scan.records, 2u);
  EXPECT_EQ(scan.next_seq, 5u);
  EXPECT_EQ(scan.synced_end, 0u);
  EXPECT_EQ(scan.records_end, seal);
  EXPECT_EQ(scan.end_offset, seal + kFrameHeaderBytes);
}

TEST_F(ScannerTest, ResyncRefusesImpossibleSeqs) {
  PutRecord(0);
  bytes_->push_back(0xff);
  PutZeros(7);
  PutRecord(100000);
  EXPECT_EQ(Scan().records_after, 0u);
}

TEST_F(ScannerTest, TheHighestSeqsDoNotOverflow) {
  const uint64_t first = UINT64_MAX - 1;
  PutRecord(first);
  PutRecord(first + 1);
  const SegmentScan scan = Scan(first);
  EXPECT_EQ(scan.records, 2u);
  (*bytes_)[kSegmentHeaderBytes + 9] ^= 1;
  EXPECT_EQ(Scan(first).records_after, 1u);
}

// Every eighth byte claims a record that reaches to the segment's end.
TEST_F(ScannerTest, ManyLookAlikesCauseFewReads) {
  constexpr uint64_t kWrittenBytes = 16u << 20;
  bytes_->resize(kWrittenBytes, 0);
  // As a word, a committed record of 8 MiB; as a seq, just above `first_seq`; as both, all over.
  const uint32_t word = (2u << kStateShift) | (8u << 20);
  const uint64_t first_seq = word - 1000;
  for (size_t at = kSegmentHeaderBytes; at + 8 <= kWrittenBytes; at += 8) {
    Store64(bytes_->data() + at, word);
  }
  uint64_t read_bytes = 0;
  const std::function<void(size_t)> count = [&](size_t bytes) { read_bytes += bytes; };
  MemoryFile counted(bytes_, &count);
  Result<SegmentScan> scan =
      ScanSegment(counted, ScanContext{first_seq, kSeed, kWrittenBytes, false});
  ASSERT_TRUE(scan.ok());
  EXPECT_TRUE(scan->damaged);
  EXPECT_EQ(scan->records_after, 0u);
  EXPECT_LT(read_bytes, 4 * kWrittenBytes);
}

// All of them state that the missing record was synced, and only the last one is a frame.
TEST_F(ScannerTest, LookAlikesInATornRecordNeitherHideAFrameNorCountAsOne) {
  constexpr uint64_t kLookAlikes = 2000;
  bytes_->resize(bytes_->size() + kFrameHeaderBytes, 0);  // of the torn record
  FrameFields claim;
  claim.state = FrameState::kCommitted;
  claim.length = kMaxPayloadBytes / 1024;
  for (uint64_t i = 0; i < kLookAlikes; ++i) {
    claim.seq = 1 + i % 100;
    uint8_t header[kFrameHeaderBytes];
    BeginFrameHeader(claim, kSeed + 1, header);
    SealFrameHeader(header, 0x12345678);
    bytes_->insert(bytes_->end(), header, header + sizeof header);
  }
  const size_t torn_end = bytes_->size();
  PutZeros(claim.length);
  EXPECT_EQ(Scan().synced_end, 0u);
  EXPECT_EQ(Scan().records_after, 0u);
  bytes_->resize(torn_end);
  PutRecord(7);
  PutZeros(claim.length);
  EXPECT_EQ(Scan().first_after, 7u);
  EXPECT_EQ(Scan().synced_end, 7u);
}

TEST_F(ScannerTest, OnlyTheHeaderOfAVoidIsRead) {
  constexpr uint64_t kVoidBytes = 8u << 20;
  PutRecord(0);
  const size_t at = bytes_->size();
  PutZeros(kVoidBytes);
  EncodeVoid(1, 3, kVoidBytes - kFrameHeaderBytes, kSeed, bytes_->data() + at);
  PutRecord(4);
  const SegmentScan scan = Scan(0, false, 2 * kVoidBytes);
  EXPECT_EQ(scan.next_seq, 5u);
  EXPECT_EQ(scan.records, 2u);
  EXPECT_LT(scan.bytes_read, kVoidBytes / 2);
}

TEST_F(ScannerTest, ZerosAfterTheEndAreDamageIfTheSlotStatesMoreRecords) {
  PutRecord(0);
  EncodeSyncedSlot(1, kSeed, bytes_->data() + kSyncedSlotOffset);
  EXPECT_FALSE(Scan().damaged);
  EncodeSyncedSlot(2, kSeed, bytes_->data() + kSyncedSlotOffset);
  EXPECT_TRUE(Scan().damaged);
  EXPECT_EQ(Scan().synced_end, 2u);
}

TEST_F(ScannerTest, TheSlotsSecondCopyReplacesADamagedFirst) {
  PutRecord(0);
  for (const size_t at : {kSyncedSlotOffset, kSyncedSlotCopyOffset}) {
    EncodeSyncedSlot(1, kSeed, bytes_->data() + at);
  }
  for (size_t byte = 0; byte < kSyncedSlotBytes; ++byte) {
    (*bytes_)[kSyncedSlotOffset + byte] ^= 0xff;
    EXPECT_EQ(Scan().synced_end, 1u) << "byte " << byte;
    (*bytes_)[kSyncedSlotOffset + byte] ^= 0xff;
  }
  // A slot of another use of the file.
  for (const size_t at : {kSyncedSlotOffset, kSyncedSlotCopyOffset}) {
    EncodeSyncedSlot(1, kSeed + 1, bytes_->data() + at);
  }
  EXPECT_EQ(Scan().synced_end, 0u);
}

TEST_F(ScannerTest, TruncationAnywhereYieldsNoWrongRecord) {
  for (uint64_t seq = 0; seq < 6; ++seq) PutRecord(seq);
  const MemoryBytes whole = *bytes_;
  const size_t frame = static_cast<size_t>(FrameBytes(8));
  for (size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    bytes_->assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
    const SegmentScan scan = Scan();
    const size_t body = bytes < kSegmentHeaderBytes ? 0 : bytes - kSegmentHeaderBytes;
    EXPECT_EQ(scan.next_seq, body / frame) << bytes;
    EXPECT_EQ(scan.records_after, 0u) << bytes;
  }
}

TEST_F(ScannerTest, FlippedByteCostsNoEarlierRecord) {
  for (uint64_t seq = 0; seq < 6; ++seq) PutRecord(seq);
  const size_t frame = static_cast<size_t>(FrameBytes(8));
  for (size_t at = kSegmentHeaderBytes; at < bytes_->size(); ++at) {
    (*bytes_)[at] ^= 0x5a;
    const SegmentScan scan = Scan();
    const uint64_t hit = (at - kSegmentHeaderBytes) / frame;
    EXPECT_EQ(scan.next_seq, hit) << at;
    EXPECT_TRUE(scan.damaged) << at;
    EXPECT_EQ(scan.records_after, 5 - hit) << at;
    (*bytes_)[at] ^= 0x5a;
  }
}

}  // namespace
}  // namespace durlog
