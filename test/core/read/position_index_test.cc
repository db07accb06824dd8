#include "read/position_index.h"

#include <gtest/gtest.h>

namespace durlog {
namespace {

constexpr uint64_t kSpacing = PositionIndex::kSpacingBytes;

TEST(PositionIndexTest, FindsTheNearestEarlierPosition) {
  PositionIndex index;
  for (uint64_t i = 1; i <= 10; ++i) index.Note(7, {i * 100, i * kSpacing});
  EXPECT_FALSE(index.Find(7, 99));
  EXPECT_FALSE(index.Find(8, 500));
  const auto found = index.Find(7, 599);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->seq, 500u);
  EXPECT_EQ(found->offset, 5 * kSpacing);
  EXPECT_EQ(found->next_offset, 6 * kSpacing);
  EXPECT_EQ(index.Find(7, 600)->seq, 600u);
  EXPECT_EQ(index.Find(7, 5000)->next_offset, 0u);
}

TEST(PositionIndexTest, PositionsInsideBatchesAreOnlyForThoseWhoAskForThem) {
  PositionIndex index;
  index.Note(7, {0, kSpacing});
  for (uint64_t i = 2; i <= 5; ++i) {
    index.Note(7, {i * 100, i * kSpacing}, PositionIndex::Place::kInsideBatch);
  }
  index.Note(7, {550, 5 * kSpacing + 8});  // near one of the other kind
  EXPECT_EQ(index.Find(7, 549)->seq, 0u);
  EXPECT_EQ(index.FindFrame(7, 549)->seq, 500u);
  EXPECT_EQ(index.FindFrame(7, 199)->seq, 0u);
  EXPECT_EQ(index.FindFrame(7, 299)->next_offset, 3 * kSpacing);
  EXPECT_EQ(index.Find(7, 600)->seq, 550u);
  EXPECT_EQ(index.FindFrame(7, 600)->seq, 550u);
  index.ForgetFrom(7, 350);
  EXPECT_EQ(index.FindFrame(7, 600)->seq, 300u);
}

TEST(PositionIndexTest, KeepsPositionsApartInAnyOrder) {
  PositionIndex index;
  index.Note(7, {200, 2 * kSpacing});
  index.Note(7, {201, 2 * kSpacing + 100});
  index.Note(7, {199, 2 * kSpacing - 100});
  EXPECT_EQ(index.Find(7, 201)->seq, 200u);
  EXPECT_FALSE(index.Find(7, 199));
  index.Note(7, {100, kSpacing});
  EXPECT_EQ(index.Find(7, 199)->seq, 100u);
}

TEST(PositionIndexTest, ForgetsPositionsAfterACut) {
  PositionIndex index;
  for (uint64_t i = 1; i <= 10; ++i) index.Note(7, {i * 100, i * kSpacing});
  index.ForgetFrom(7, 450);
  EXPECT_EQ(index.Find(7, 5000)->seq, 400u);
  index.ForgetFrom(8, 0);
  index.Forget(7);
  EXPECT_FALSE(index.Find(7, 5000));
}

TEST(PositionIndexTest, ForgetsTheLeastRecentlyUsedSegment) {
  PositionIndex index;
  // 1 GiB of positions in each of nine segments, of which eight have room.
  const uint64_t each = (uint64_t{1} << 30) / kSpacing;
  for (uint64_t salt = 0; salt < 9; ++salt) {
    for (uint64_t i = 0; i < each; ++i) index.Note(salt, {i, i * kSpacing});
  }
  EXPECT_FALSE(index.Find(0, each));
  for (uint64_t salt = 1; salt < 9; ++salt) EXPECT_TRUE(index.Find(salt, each)) << salt;
}

}  // namespace
}  // namespace durlog
