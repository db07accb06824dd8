#include "write/unsynced_limit.h"

#include <gtest/gtest.h>

namespace durlog {
namespace {

TEST(UnsyncedLimitTest, LargeSegmentsReachItByTheirBytesAndSmallOnesByTheirNumber) {
  EXPECT_FALSE(ReachesUnsyncedLimit(3, 64u << 20));
  EXPECT_TRUE(ReachesUnsyncedLimit(4, 64u << 20));
  EXPECT_FALSE(ReachesUnsyncedLimit(3, uint64_t{1} << 30));
  EXPECT_FALSE(ReachesUnsyncedLimit(63, 64u << 10));
  EXPECT_TRUE(ReachesUnsyncedLimit(64, 64u << 10));
}

}  // namespace
}  // namespace durlog
