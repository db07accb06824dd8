#include "inspect/extent.h"

#include <cstring>
#include <utility>

#include "crafted_log.h"

namespace durlog {
namespace {

constexpr uint64_t kNoLimit = UINT64_MAX;

class FindExtentTest : public CraftedLogTest {
 protected:
  SegmentExtent Find(const ExtentQuery& query) {
    Result<SegmentExtent> extent = FindExtent(disk_, kPath, SegmentName(100), query);
    EXPECT_TRUE(extent.ok()) << extent.status().message();
    return extent.ok() ? std::move(*extent) : SegmentExtent{};
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

TEST_F(FindExtentTest, ReadsFewBytesForOneRecordAtAKnownOffset) {
  Build(100, 0);
  uint64_t bytes_read = 0;
  disk_.after_read = [&bytes_read](size_t bytes) { bytes_read += bytes; };
  EXPECT_EQ(Find({OffsetOf(4), 104, 105, kNoLimit}).next_seq, 105u);
  EXPECT_LT(bytes_read, kSegmentBytes / 2);
}

TEST_F(FindExtentTest, HasTheHeaderAndTheBytesOfAShortExtentOfRecords) {
  Build(100, 0);
  const SegmentExtent extent = Find({OffsetOf(4), 104, 106, kNoLimit});
  const size_t frames_bytes = OffsetOf(6) - OffsetOf(4);
  ASSERT_EQ(extent.copy_bytes, kSegmentHeaderBytes + frames_bytes);
  const uint8_t* const frames = extent.copy.data() + kSegmentHeaderBytes;
  EXPECT_EQ(std::memcmp(extent.copy.data(), Image(100).data(), kSegmentHeaderBytes), 0);
  EXPECT_EQ(std::memcmp(frames, Image(100).data() + OffsetOf(4), frames_bytes), 0);
  EXPECT_EQ(Find({OffsetOf(4), 104, 104, kNoLimit}).copy_bytes, 0u);
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
