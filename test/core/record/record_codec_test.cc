#include "record/record_codec.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "checksum/crc32c.h"

namespace durlog {
namespace {

// crc32c of the uuid 00 01 .. 0f and the salt 0x1122334455667788, worked out by hand.
constexpr uint32_t kCodecSeed = 0xed97321e;
using Frame = std::vector<uint8_t>;

FrameFields Fields(FrameState state, uint32_t length, uint64_t seq, uint32_t unsynced = 0) {
  FrameFields fields;
  fields.state = state;
  fields.length = length;
  fields.seq = seq;
  fields.unsynced = unsynced;
  return fields;
}

Frame Encode(const FrameFields& fields, const std::string& payload, uint32_t seed = kCodecSeed) {
  Frame frame(static_cast<size_t>(FrameBytes(payload.size())), 0);
  const Bytes bytes{reinterpret_cast<const uint8_t*>(payload.data()), payload.size()};
  // Not EncodeFrame(): a frame's length may be a lie.
  const uint32_t crc = BeginFrameHeader(fields, seed, frame.data());
  SealFrameHeader(frame.data(),
                  CopyAndCrc32c(crc, frame.data() + kFrameHeaderBytes, bytes.data, bytes.size));
  return frame;
}

DecodeStatus Decode(const Frame& frame, uint64_t room, uint32_t seed = kCodecSeed) {
  DecodedFrame decoded;
  return DecodeFrame(frame.data(), frame.size(), room, seed, &decoded);
}

DecodeStatus Decode(const Frame& frame) { return Decode(frame, frame.size()); }

// A frame whose word is `word` and whose checksum matches it.
Frame Forge(uint32_t word, uint64_t seq, uint32_t unsynced, size_t covered, size_t bytes) {
  Frame frame(bytes, 0);
  Store32(frame.data(), word);
  Store64(frame.data() + kFrameSeqOffset, seq);
  Store32(frame.data() + kFrameUnsyncedOffset, unsynced);
  const uint32_t crc = Crc32c(kCodecSeed, frame.data(), kFrameHeaderBytes + covered);
  Store32(frame.data() + kFrameCrcOffset, crc);
  return frame;
}

uint32_t Word(FrameState state, uint32_t length) { return FrameWord(Fields(state, length, 0)); }

TEST(RecordTest, RecordHasTheDocumentedBytes) {
  FrameFields fields = Fields(FrameState::kCommitted, 6, 0x0102030405060708, 3);
  fields.time_ms = 250;
  EXPECT_EQ(Encode(fields, "durlog"),
            (Frame{0x06, 0x00, 0x00, 0x40, 0x50, 0xa4, 0xf2, 0x7c, 0x08, 0x07, 0x06,
                   0x05, 0x04, 0x03, 0x02, 0x01, 0x03, 0x00, 0x00, 0x00, 0xfa, 0x00,
                   0x00, 0x00, 0x64, 0x75, 0x72, 0x6c, 0x6f, 0x67, 0x00, 0x00}));
}

TEST(RecordTest, BatchFlagSurvivesTheRoundTrip) {
  FrameFields fields = Fields(FrameState::kCommitted, 1, 7);
  fields.batch_continues = true;
  fields.time_ms = 1;
  EXPECT_EQ(Encode(fields, "x"),
            (Frame{0x01, 0x00, 0x00, 0x50, 0x88, 0x2b, 0xa5, 0xf8, 0x07, 0x00, 0x00,
                   0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00,
                   0x00, 0x00, 0x78, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00}));
}

TEST(RecordTest, AMarkerIsAHeaderAlone) {
  FrameFields fields = Fields(FrameState::kMarker, 0, 42);
  fields.time_ms = 9;
  EXPECT_EQ(Encode(fields, ""),
            (Frame{0x00, 0x00, 0x00, 0x80, 0x51, 0x48, 0x5f, 0x64, 0x2a, 0x00, 0x00, 0x00,
                   0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00}));
}

TEST(RecordTest, PaddingIsCheckedByItsHeaderAlone) {
  Frame frame{0x64, 0x00, 0x00, 0x60, 0x39, 0xbd, 0x7d, 0xbf, 0x05, 0x00, 0x00, 0x00,
              0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  frame.resize(static_cast<size_t>(FrameBytes(100)), 0xee);
  EXPECT_EQ(Decode(frame), DecodeStatus::kWhole);
}

TEST(RecordTest, AVoidIsCheckedByItsHeaderAloneAndHasRoomForItsSeqs) {
  Frame frame(static_cast<size_t>(FrameBytes(72)), 0xee);
  EncodeVoid(5, 3, 72, kCodecSeed, frame.data());
  DecodedFrame decoded;
  ASSERT_EQ(DecodeFrame(frame.data(), frame.size(), frame.size(), kCodecSeed, &decoded),
            DecodeStatus::kWhole);
  EXPECT_EQ(decoded.fields.seqs(), 3u);
  EXPECT_EQ(decoded.fields.synced_end(), 0u);
  EncodeVoid(5, 4, 72, kCodecSeed, frame.data());
  EXPECT_EQ(Decode(frame), DecodeStatus::kBadLength);
  EncodeVoid(5, 0, 0, kCodecSeed, frame.data());
  EXPECT_EQ(Decode(frame), DecodeStatus::kWhole);
  EXPECT_EQ(PeekFrame(frame.data()).seqs(), 0u);
}

TEST(RecordTest, WhatWasEncodedIsDecoded) {
  FrameFields fields = Fields(FrameState::kCommitted, 5, 1u << 20, 77);
  fields.time_ms = 123456;
  const Frame frame = Encode(fields, "hello");
  DecodedFrame decoded;
  ASSERT_EQ(DecodeFrame(frame.data(), frame.size(), frame.size(), kCodecSeed, &decoded),
            DecodeStatus::kWhole);
  EXPECT_EQ(decoded.fields.state, FrameState::kCommitted);
  EXPECT_FALSE(decoded.fields.batch_continues);
  EXPECT_EQ(decoded.fields.seq, 1u << 20);
  EXPECT_EQ(decoded.fields.unsynced, 77u);
  EXPECT_EQ(decoded.fields.synced_end(), (1u << 20) - 77u);
  EXPECT_EQ(decoded.fields.time_ms, 123456u);
  EXPECT_EQ(std::string(decoded.payload, decoded.payload + decoded.fields.length), "hello");
}

TEST(RecordTest, EveryFlippedBitIsDetected) {
  const std::string payload = "thirteen byte";
  const Frame whole = Encode(Fields(FrameState::kCommitted, 13, 9, 4), payload);
  for (size_t bit = 0; bit < (kFrameHeaderBytes + payload.size()) * 8; ++bit) {
    Frame frame = whole;
    frame[bit / 8] = static_cast<uint8_t>(frame[bit / 8] ^ (1u << (bit % 8)));
    EXPECT_NE(Decode(frame), DecodeStatus::kWhole) << "bit " << bit;
    EXPECT_NE(Decode(frame, UINT64_MAX), DecodeStatus::kWhole) << "bit " << bit;
  }
}

TEST(RecordTest, AlignmentBytesAreNotChecked) {
  Frame frame = Encode(Fields(FrameState::kCommitted, 13, 9, 4), "thirteen byte");
  frame.back() ^= 0x10;
  EXPECT_EQ(Decode(frame), DecodeStatus::kWhole);
}

TEST(RecordTest, RecordOfAnotherSaltIsRefused) {
  const Frame stale = Encode(Fields(FrameState::kCommitted, 4, 5), "gone", kCodecSeed ^ 1);
  EXPECT_EQ(Decode(stale), DecodeStatus::kBadCrc);
}

TEST(RecordTest, ZerosAreNeverARecord) {
  const Frame zeros(4096, 0);
  for (const uint32_t seed : {0u, 1u, kCodecSeed, UINT32_MAX}) {
    EXPECT_EQ(Decode(zeros, 4096, seed), DecodeStatus::kFree);
  }
}

TEST(RecordTest, ZeroWordHidesAFrame) {
  Frame frame = Encode(Fields(FrameState::kCommitted, 4, 5), "late");
  Store32(frame.data(), 0);
  EXPECT_EQ(Decode(frame), DecodeStatus::kFree);
}

TEST(RecordTest, LengthIsCheckedBeforeThePayloadIsRead) {
  // 24 bytes on the heap: a sanitizer sees the first byte that is read past them.
  Frame frame(kFrameHeaderBytes, 0);
  for (const uint32_t length : {1u, 1000u, kMaxPayloadBytes}) {
    Store32(frame.data(), Word(FrameState::kCommitted, length));
    EXPECT_EQ(Decode(frame), DecodeStatus::kOverrun) << length;
    EXPECT_EQ(Decode(frame, FrameBytes(length)), DecodeStatus::kShort) << length;
  }
}

TEST(RecordTest, ForbiddenLengthIsRefused) {
  for (const uint32_t length : {0u, kMaxPayloadBytes + 1, kLengthMask}) {
    const Frame frame = Forge(Word(FrameState::kCommitted, length), 0, 0, 0, kFrameHeaderBytes + 8);
    EXPECT_EQ(Decode(frame, UINT64_MAX), DecodeStatus::kBadLength) << length;
  }
  const Frame marker = Forge(Word(FrameState::kMarker, 8), 0, 0, 8, kFrameHeaderBytes + 8);
  EXPECT_EQ(Decode(marker), DecodeStatus::kBadLength);
}

TEST(RecordTest, LongestPaddingDoesNotOverflow) {
  const Frame frame = Forge(Word(FrameState::kPadding, kLengthMask), 0, 0, 0, kFrameHeaderBytes);
  EXPECT_EQ(Decode(frame, UINT64_MAX), DecodeStatus::kWhole);
  EXPECT_EQ(Decode(frame, kLengthMask), DecodeStatus::kOverrun);
}

TEST(RecordTest, UnknownStatesAreRefused) {
  for (const uint32_t state : {1u, 6u, 7u}) {
    const Frame frame = Forge((state << kStateShift) | 8, 0, 0, 8, 32);
    EXPECT_EQ(Decode(frame), DecodeStatus::kBadState) << state;
  }
}

TEST(RecordTest, FreeStateWithALengthIsRefused) {
  EXPECT_EQ(Decode(Forge(8, 0, 0, 8, 32)), DecodeStatus::kBadState);
}

TEST(RecordTest, NegativeSyncedEndIsRefused) {
  const uint32_t word = Word(FrameState::kCommitted, 8);
  EXPECT_EQ(Decode(Forge(word, 3, 3, 8, 32)), DecodeStatus::kWhole);
  EXPECT_EQ(Decode(Forge(word, 3, 4, 8, 32)), DecodeStatus::kBadCrc);
  EXPECT_EQ(Decode(Forge(word, 0, UINT32_MAX, 8, 32)), DecodeStatus::kBadCrc);
}

TEST(RecordTest, HighestSeqIsDecoded) {
  const uint32_t word = Word(FrameState::kCommitted, 8);
  const Frame frame = Forge(word, UINT64_MAX, UINT32_MAX, 8, 32);
  DecodedFrame decoded;
  ASSERT_EQ(DecodeFrame(frame.data(), frame.size(), 32, kCodecSeed, &decoded),
            DecodeStatus::kWhole);
  EXPECT_EQ(decoded.fields.synced_end(), UINT64_MAX - UINT32_MAX);
}

TEST(RecordTest, NoRecordWithoutRoomForAHeader) {
  const Frame frame(kFrameHeaderBytes, 0xff);
  for (uint64_t room = 0; room < kFrameHeaderBytes; ++room) {
    DecodedFrame decoded;
    EXPECT_EQ(DecodeFrame(frame.data(), static_cast<size_t>(room), room, kCodecSeed, &decoded),
              DecodeStatus::kFree);
  }
}

TEST(RecordTest, TruncatedFrameAsksForMore) {
  const Frame whole = Encode(Fields(FrameState::kCommitted, 40, 1), std::string(40, 'p'));
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const Frame cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
    DecodedFrame decoded;
    EXPECT_EQ(DecodeFrame(cut.data(), cut.size(), whole.size(), kCodecSeed, &decoded),
              DecodeStatus::kShort)
        << bytes;
  }
}

TEST(RecordTest, EveryStatusIsDescribed) {
  EXPECT_STREQ(DescribeDecodeStatus(DecodeStatus::kWhole), "");
  for (const DecodeStatus status :
       {DecodeStatus::kFree, DecodeStatus::kShort, DecodeStatus::kOverrun, DecodeStatus::kBadState,
        DecodeStatus::kBadLength, DecodeStatus::kBadCrc}) {
    EXPECT_GT(std::strlen(DescribeDecodeStatus(status)), 5u);
  }
}

}  // namespace
}  // namespace durlog
