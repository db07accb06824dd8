#include "record/segment_header.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "base/bytes.h"
#include "checksum/crc32c.h"

namespace durlog {
namespace {

using Block = std::vector<uint8_t>;

// The first 64 bytes, worked out by hand.
const Block kGolden{0x44, 0x55, 0x52, 0x4c, 0x4f, 0x47, 0x0d, 0x0a, 0x01, 0x00, 0x00, 0x00, 0x00,
                    0x10, 0x00, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09,
                    0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22,
                    0x11, 0x7b, 0x68, 0xe5, 0xcf, 0x8b, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00,
                    0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0xea, 0x24, 0x11, 0x6a};

SegmentHeader GoldenHeader() {
  SegmentHeader header;
  for (size_t i = 0; i < header.uuid.size(); ++i) header.uuid[i] = static_cast<uint8_t>(i);
  header.salt = 0x1122334455667788;
  header.base_time_ms = 1'700'000'000'123;
  header.segment_bytes = 65536;
  header.recycled = true;
  return header;
}

Block GoldenBlock() {
  Block block(kSegmentHeaderBytes, 0xff);
  EncodeSegmentHeader(GoldenHeader(), block.data());
  return block;
}

Result<DecodedSegmentHeader> DecodeBlock(const Block& block) {
  return DecodeSegmentHeader(block.data(), block.size());
}

// Changes both copies, with checksums that fit.
Block Forge(const std::function<void(uint8_t*)>& change) {
  Block block = GoldenBlock();
  for (const size_t copy : {size_t{0}, kSegmentHeaderCopyOffset}) {
    change(block.data() + copy);
    Store32(block.data() + copy + 60, Crc32c(0, block.data() + copy, 60));
  }
  return block;
}

TEST(SegmentHeaderTest, HeaderHasTheDocumentedBytes) {
  const Block block = GoldenBlock();
  EXPECT_TRUE(std::equal(kGolden.begin(), kGolden.end(), block.begin()));
  EXPECT_TRUE(std::equal(kGolden.begin(), kGolden.end(), block.begin() + 2048));
  for (size_t i = 64; i < block.size(); ++i) {
    if (i < 2048 || i >= 2048 + 64) {
      EXPECT_EQ(block[i], 0) << i;
    }
  }
}

TEST(SegmentHeaderTest, WhatWasEncodedIsDecoded) {
  const Result<DecodedSegmentHeader> decoded = DecodeBlock(GoldenBlock());
  ASSERT_TRUE(decoded.ok());
  EXPECT_FALSE(decoded->copies_differ);
  EXPECT_EQ(decoded->header.uuid, GoldenHeader().uuid);
  EXPECT_EQ(decoded->header.salt, 0x1122334455667788u);
  EXPECT_EQ(decoded->header.base_time_ms, 1'700'000'000'123u);
  EXPECT_EQ(decoded->header.segment_bytes, 65536u);
  EXPECT_TRUE(decoded->header.recycled);
}

TEST(SegmentHeaderTest, FrameChecksumsStartFromUuidAndSalt) {
  EXPECT_EQ(GoldenHeader().crc_seed(), 0xed97321eu);
  SegmentHeader other = GoldenHeader();
  ++other.salt;
  EXPECT_NE(other.crc_seed(), GoldenHeader().crc_seed());
  other = GoldenHeader();
  other.uuid[15] ^= 1;
  EXPECT_NE(other.crc_seed(), GoldenHeader().crc_seed());
}

TEST(SegmentHeaderTest, TheSecondCopyReplacesADamagedFirst) {
  for (const size_t copy : {size_t{0}, kSegmentHeaderCopyOffset}) {
    for (size_t bit = 0; bit < kSegmentHeaderFieldBytes * 8; ++bit) {
      Block block = GoldenBlock();
      uint8_t& byte = block[copy + bit / 8];
      byte = static_cast<uint8_t>(byte ^ (1u << (bit % 8)));
      const Result<DecodedSegmentHeader> decoded = DecodeBlock(block);
      ASSERT_TRUE(decoded.ok()) << "copy " << copy << " bit " << bit;
      EXPECT_TRUE(decoded->copies_differ);
      EXPECT_EQ(decoded->header.salt, GoldenHeader().salt);
    }
  }
}

TEST(SegmentHeaderTest, BothCopiesDamagedIsCorrupt) {
  Block block = GoldenBlock();
  block[33] ^= 1;
  block[kSegmentHeaderCopyOffset + 50] ^= 1;
  EXPECT_EQ(DecodeBlock(block).status().code(), Code::kCorrupt);
  EXPECT_EQ(DecodeBlock(Block(kSegmentHeaderBytes, 0)).status().code(), Code::kCorrupt);
  EXPECT_EQ(DecodeBlock(Block(kSegmentHeaderBytes, 0xff)).status().code(), Code::kCorrupt);
}

TEST(SegmentHeaderTest, TruncatedHeaderIsCorrupt) {
  const Block whole = GoldenBlock();
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const Block cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
    EXPECT_EQ(DecodeBlock(cut).status().code(), Code::kCorrupt);
  }
}

TEST(SegmentHeaderTest, NewerVersionIsNotReportedAsDamage) {
  const Block newer = Forge([](uint8_t* fields) { Store32(fields + 8, kNewestVersion + 1); });
  EXPECT_EQ(DecodeBlock(newer).status().code(), Code::kVersion);
}

TEST(SegmentHeaderTest, ImpossibleHeaderIsRefused) {
  const uint64_t impossible[] = {0, 1, 4096, 65535, kMaxSegmentBytes + 4096, UINT64_MAX};
  for (const uint64_t bytes : impossible) {
    const Block block = Forge([bytes](uint8_t* fields) { Store64(fields + 48, bytes); });
    EXPECT_EQ(DecodeBlock(block).status().code(), Code::kCorrupt) << bytes;
  }
  const Block other_size = Forge([](uint8_t* fields) { Store32(fields + 12, 8192); });
  EXPECT_EQ(DecodeBlock(other_size).status().code(), Code::kCorrupt);
}

TEST(SegmentHeaderTest, UnknownFlagsAreIgnored) {
  const Block block = Forge([](uint8_t* fields) { Store32(fields + 56, 0xfffffffe); });
  const Result<DecodedSegmentHeader> decoded = DecodeBlock(block);
  ASSERT_TRUE(decoded.ok());
  EXPECT_FALSE(decoded->header.recycled);
}

TEST(SegmentHeaderTest, UuidHasItsUsualForm) {
  EXPECT_EQ(FormatUuid(GoldenHeader().uuid), "00010203-0405-0607-0809-0a0b0c0d0e0f");
}

TEST(LogUuid, IsReadFromItsTextAndFromNoOther) {
  const LogUuid uuid = GoldenHeader().uuid;
  EXPECT_EQ(ParseUuid(FormatUuid(uuid)), uuid);
  for (const char* const text :
       {"", "00010203-0405-0607-0809-0a0b0c0d0e0", "00010203-0405-0607-0809-0a0b0c0d0e0f0",
        "00010203-0405-0607-0809-0A0B0C0D0E0F", "000102030405060708090a0b0c0d0e0f",
        "0001020304050607-0809-0a0b-0c0d-0e0f", "00010203040506070809-0a0b0c0d0e0f--",
        "000102030405060708090a0b0c0d0e0f0000", "------------------------------------",
        "0001020304050607-0809-0a0b0c0d0e0f--", "g0010203-0405-0607-0809-0a0b0c0d0e0f"}) {
    EXPECT_EQ(ParseUuid(text), std::nullopt) << text;
  }
}

TEST(SegmentHeaderTest, TheFirstOfTwoGoodCopiesThatDifferCounts) {
  uint8_t block[kSegmentHeaderBytes];
  uint8_t other[kSegmentHeaderBytes];
  SegmentHeader header;
  header.segment_bytes = kMinSegmentBytes;
  header.salt = 1;
  EncodeSegmentHeader(header, block);
  header.salt = 2;
  EncodeSegmentHeader(header, other);
  std::memcpy(block + kSegmentHeaderCopyOffset, other, kSegmentHeaderFieldBytes);
  const Result<DecodedSegmentHeader> decoded = DecodeSegmentHeader(block, sizeof block);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->header.salt, 1u);
  EXPECT_TRUE(decoded->copies_differ);
}

TEST(SegmentHeaderTest, ThereIsNoVersion0) {
  uint8_t block[kSegmentHeaderBytes];
  SegmentHeader header;
  header.version = 0;
  header.segment_bytes = kMinSegmentBytes;
  EncodeSegmentHeader(header, block);
  EXPECT_EQ(DecodeSegmentHeader(block, sizeof block).status().code(), Code::kCorrupt);
}

}  // namespace
}  // namespace durlog
