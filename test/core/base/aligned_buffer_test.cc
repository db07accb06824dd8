#include "base/aligned_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace durlog {
namespace {

constexpr size_t kHugePageBytes = 2 << 20;

bool IsInHugePages(AlignedBuffer& buffer) {
  const bool aligned = reinterpret_cast<uintptr_t>(buffer.data()) % kHugePageBytes == 0;
  return aligned && buffer.capacity() % kHugePageBytes == 0;
}

TEST(AlignedBufferTest, AMebibyteFillsHugePages) {
  AlignedBuffer buffer;
  ASSERT_TRUE(buffer.Reserve(1 << 20, 0));
  EXPECT_TRUE(IsInHugePages(buffer));
}

TEST(AlignedBufferTest, AGrowingBufferKeepsItsBytesAndMovesToHugePages) {
  AlignedBuffer buffer;
  ASSERT_TRUE(buffer.Reserve(3, 0));
  EXPECT_LT(buffer.capacity(), kHugePageBytes);
  buffer.data()[2] = 7;
  ASSERT_TRUE(buffer.Reserve((1 << 20) + 4096, 3));
  EXPECT_EQ(buffer.data()[2], 7);
  EXPECT_TRUE(IsInHugePages(buffer));
}

}  // namespace
}  // namespace durlog
