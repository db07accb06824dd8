#include "checksum/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "checksum/crc32c_implementations.h"

namespace durlog {
namespace {

// One bit at a time, from the definition: nothing shared with what is tested.
uint32_t Reference(uint32_t crc, const uint8_t* data, size_t length) {
  crc = ~crc;
  for (size_t i = 0; i < length; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
  }
  return ~crc;
}

std::vector<uint8_t> Noise(size_t size) {
  std::vector<uint8_t> bytes(size);
  uint32_t state = 20210;
  for (uint8_t& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return bytes;
}

// Runs with each implementation that this processor has, and with the one that was chosen.
class ChecksumTest : public testing::TestWithParam<Crc32cImplementation> {
 protected:
  void SetUp() override {
    if (!GetParam().supported) GTEST_SKIP() << "not on this processor";
  }
  uint32_t Crc(uint32_t crc, const void* data, size_t length) const {
    return GetParam().function(crc, data, length);
  }
};

TEST_P(ChecksumTest, GivesTheVectorsOfRfc3720) {
  const std::vector<uint8_t> zeros(32, 0x00), ones(32, 0xff);
  std::vector<uint8_t> up(32), down(32);
  for (size_t i = 0; i < 32; ++i) {
    up[i] = static_cast<uint8_t>(i);
    down[i] = static_cast<uint8_t>(31 - i);
  }
  const std::vector<uint8_t> read_command = {
      0x01, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00,
      0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x18, 0x28, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  EXPECT_EQ(Crc(0, zeros.data(), zeros.size()), 0x8a9136aau);
  EXPECT_EQ(Crc(0, ones.data(), ones.size()), 0x62a8ab43u);
  EXPECT_EQ(Crc(0, up.data(), up.size()), 0x46dd794eu);
  EXPECT_EQ(Crc(0, down.data(), down.size()), 0x113fdb5cu);
  EXPECT_EQ(Crc(0, read_command.data(), read_command.size()), 0xd9963a56u);
  EXPECT_EQ(Crc(0, "123456789", 9), 0xe3069283u);
}

TEST_P(ChecksumTest, NoBytesLeaveTheCrcAsItIs) {
  EXPECT_EQ(Crc(0, nullptr, 0), 0u);
  EXPECT_EQ(Crc(0x12345678, nullptr, 0), 0x12345678u);
}

TEST_P(ChecksumTest, MatchesTheDefinitionAtEveryLengthAndAlignment) {
  const std::vector<uint8_t> bytes = Noise(2000 + 16);
  for (size_t alignment = 0; alignment < 16; ++alignment) {
    // The definition is walked once for an alignment, not once for a length.
    uint32_t expected = 0;
    for (size_t length = 0; length <= 2000; ++length) {
      ASSERT_EQ(Crc(0, &bytes[alignment], length), expected)
          << "length " << length << ", alignment " << alignment;
      expected = Reference(expected, &bytes[alignment + length], length < 2000 ? 1 : 0);
    }
  }
}

TEST_P(ChecksumTest, MatchesTheDefinitionOnLongInputs) {
  const std::vector<uint8_t> bytes = Noise(100000);
  for (size_t length = 2001; length < bytes.size(); length += length / 16 + 1) {
    ASSERT_EQ(Crc(7, bytes.data(), length), Reference(7, bytes.data(), length)) << length;
  }
}

TEST_P(ChecksumTest, ChainedCallsGiveTheCrcOfTheWhole) {
  const std::vector<uint8_t> bytes = Noise(2000);
  const uint32_t whole = Reference(0, bytes.data(), bytes.size());
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const uint32_t first = Crc(0, bytes.data(), cut);
    ASSERT_EQ(Crc(first, bytes.data() + cut, bytes.size() - cut), whole) << "cut at " << cut;
  }
  for (size_t piece = 1; piece < 300; ++piece) {
    uint32_t crc = 0;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      crc = Crc(crc, &bytes[at], std::min(piece, bytes.size() - at));
    }
    ASSERT_EQ(crc, whole) << "in pieces of " << piece;
  }
}

TEST_P(ChecksumTest, ReadsNoByteBeyondTheInput) {
  // On the heap at its exact size, so that a sanitizer sees one byte too many.
  for (size_t length = 1; length < 1500; ++length) {
    const std::vector<uint8_t> exact = Noise(length);
    ASSERT_EQ(Crc(1, exact.data(), length), Reference(1, exact.data(), length)) << length;
  }
}

std::vector<Crc32cImplementation> AllImplementations() {
  const Crc32cImplementationList list = Crc32cImplementations();
  std::vector<Crc32cImplementation> all(list.items, list.items + list.count);
  all.push_back({"chosen", &Crc32c, true});
  return all;
}

std::string NameOf(const testing::TestParamInfo<Crc32cImplementation>& implementation) {
  std::string name = implementation.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Crc32c, ChecksumTest, testing::ValuesIn(AllImplementations()), NameOf);

TEST(ChecksumListTest, LastImplementationIsPortable) {
  const Crc32cImplementationList list = Crc32cImplementations();
  ASSERT_GT(list.count, 0u);
  EXPECT_TRUE(list.items[list.count - 1].supported);
}

TEST(CopyAndCrc32cTest, CopiesAndReturnsTheChecksum) {
  std::vector<uint8_t> bytes(100000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 31 + (i >> 8));
  for (const size_t length :
       std::initializer_list<size_t>{0, 1, 23, 16383, 16384, 16385, 32768, 99999}) {
    std::vector<uint8_t> copy(length + 1, 0xEE);
    EXPECT_EQ(CopyAndCrc32c(7, copy.data(), bytes.data(), length), Crc32c(7, bytes.data(), length));
    EXPECT_TRUE(std::equal(copy.begin(), copy.end() - 1, bytes.begin())) << length;
    EXPECT_EQ(copy.back(), 0xEE) << length;
  }
}

}  // namespace
}  // namespace durlog
