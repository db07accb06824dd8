#include "write/unsynced_limit.h"

#include <gtest/gtest.h>

namespace durlog {
namespace {

TEST(UnsyncedLimitTest, LargeSegmentsReachItByTheirBytesAndSmallOnesByTheirNumber) {
  EXPECT_FALSE(ReachesUnsyncedLimit(4, 255u << 20));
  EXPECT_TRUE(ReachesUnsyncedLimit(4, 256u << 20));
  EXPECT_FALSE(ReachesUnsyncedLimit(3, uint64_t{1} << 30));
  EXPECT_FALSE(ReachesUnsyncedLimit(63, 63u << 16));
  EXPECT_TRUE(ReachesUnsyncedLimit(64, 64u << 16));
}

}  // namespace
}  // namespace durlog
