#include "inspect/extent.h"

#include "crafted_log.h"

namespace durlog {
namespace {

constexpr uint64_t kNoLimit = UINT64_MAX;

class FindExtentTest : public CraftedLogTest {
 protected:
  SegmentExtent Find(const ExtentQuery& query) {
    const Result<SegmentExtent> extent = FindExtent(disk_, kPath, SegmentName(100), query);
    EXPECT_TRUE(extent.ok()) << extent.status().message();
    return extent.ok() ? *extent : SegmentExtent{};
  }
};

TEST_F(FindExtentTest, HoldsTheSeqsFromOneToBelowAnother) {
  Build(100, 0);
  const SegmentExtent extent = Find({0, 103, 107, kNoLimit});
  EXPECT_EQ(extent.begin_offset, OffsetOf(3));
  EXPECT_EQ(extent.end_offset, OffsetOf(7));
  EXPECT_EQ(extent.next_seq, 107u);
  EXPECT_EQ(extent.records, 4u);
}

TEST_F(FindExtentTest, ContinuesAtAKnownOffset) {
  Build(100, 0);
  const SegmentExtent extent = Find({OffsetOf(4), 104, 106, kNoLimit});
  EXPECT_EQ(extent.begin_offset, OffsetOf(4));
  EXPECT_EQ(extent.next_seq, 106u);
}

TEST_F(FindExtentTest, TakesOneRecordAtLeastAndThenNoMoreThanTheLimit) {
  Build(100, 0);
  EXPECT_EQ(Find({0, 100, 110, 1}).next_seq, 101u);
  EXPECT_EQ(Find({0, 100, 110, OffsetOf(3) - OffsetOf(0)}).next_seq, 103u);
}

TEST_F(FindExtentTest, EndsBeforeAMarkerAfterItsLastRecord) {
  Build(100, 0);
  Mark(100);
  EXPECT_EQ(Find({0, 100, 110, kNoLimit}).end_offset, OffsetOf(10));
}

TEST_F(FindExtentTest, EndsBeforeAFrameThatIsNotWhole) {
  Build(100, 0);
  Damage(100, 105);
  EXPECT_EQ(Find({0, 100, 110, kNoLimit}).next_seq, 105u);
}

TEST_F(FindExtentTest, RefusesASeqWithoutAFrame) {
  Build(100, 0);
  Damage(100, 102);
  EXPECT_EQ(FindExtent(disk_, kPath, SegmentName(100), {0, 104, 110, kNoLimit}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(FindExtent(disk_, kPath, SegmentName(200), {0, 200, 201, kNoLimit}).status().code(),
            Code::kNotFound);
}

}  // namespace
}  // namespace durlog
