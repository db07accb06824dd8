#include "checksum/crc32c_splice.h"

#include <gtest/gtest.h>

#include <vector>

#include "checksum/crc32c.h"

namespace durlog {
namespace {

TEST(Crc32cSpliceTest, EqualsTheChecksumOfTheBytes) {
  std::vector<uint8_t> message(100'000);
  for (size_t i = 0; i < message.size(); ++i) message[i] = static_cast<uint8_t>(i * i / 7);
  const uint32_t after = Crc32c(0, message.data(), message.size());
  for (const size_t length :
       {0u, 1u, 7u, 8u, 15u, 16u, 17u, 255u, 256u, 4096u, 65'537u, 100'000u}) {
    const size_t start = message.size() - length;
    const uint32_t before = Crc32c(0, message.data(), start);
    for (const uint32_t crc : {0u, 1u, 0x5eedu, 0xffffffffu}) {
      EXPECT_EQ(SpliceCrc32c(crc, before, after, length),
                Crc32c(crc, message.data() + start, length))
          << length;
    }
  }
}

TEST(Crc32cSpliceTest, TakesTheLongestPayload) {
  const std::vector<uint8_t> zeros(size_t{128} << 20);
  const uint32_t before = 0x12345678;
  const uint32_t after = Crc32c(before, zeros.data(), zeros.size());
  EXPECT_EQ(SpliceCrc32c(0, before, after, zeros.size()), Crc32c(0, zeros.data(), zeros.size()));
}

}  // namespace
}  // namespace durlog
