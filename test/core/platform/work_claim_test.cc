#include "platform/work_claim.h"

#include <gtest/gtest.h>

namespace durlog {
namespace {

TEST(WorkClaimTest, IsTakenByThePoolOrByAnOverflowThread) {
  WorkClaim pool;
  EXPECT_FALSE(pool.taken());
  EXPECT_TRUE(pool.TakeForPool());
  EXPECT_TRUE(pool.taken_by_pool());
  EXPECT_FALSE(pool.TakeForOverflow());

  WorkClaim overflow;
  EXPECT_TRUE(overflow.TakeForOverflow());
  EXPECT_FALSE(overflow.TakeForPool());
  EXPECT_FALSE(overflow.taken_by_pool());
}

// An overflow thread may have been about to take the work when a worker of the pool took it, and
// the worker then queued it for a second overflow thread.
TEST(WorkClaimTest, WorkThatIsHandedOverIsTakenByOneOverflowThread) {
  WorkClaim claim;
  ASSERT_TRUE(claim.TakeForPool());
  claim.HandOver();
  EXPECT_TRUE(claim.taken());
  EXPECT_FALSE(claim.taken_by_pool());
  EXPECT_TRUE(claim.TakeForOverflow());
  EXPECT_FALSE(claim.TakeForOverflow());
  EXPECT_FALSE(claim.TakeBack());
}

TEST(WorkClaimTest, WorkThatNoThreadTakesIsTakenBack) {
  WorkClaim claim;
  ASSERT_TRUE(claim.TakeForPool());
  claim.HandOver();
  EXPECT_TRUE(claim.TakeBack());
  EXPECT_TRUE(claim.taken_by_pool());
  EXPECT_FALSE(claim.TakeForOverflow());
}

}  // namespace
}  // namespace durlog
