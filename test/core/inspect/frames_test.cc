#include "inspect/frames.h"

#include <string>
#include <utility>
#include <vector>

#include "crafted_log.h"
#include "platform_test_folder.h"

namespace durlog {
namespace {

constexpr size_t kAll = 1000;

class ListFramesTest : public CraftedLogTest {
 protected:
  std::vector<FrameReport> List(uint64_t offset, size_t max) {
    Result<std::vector<FrameReport>> frames =
        ListFrames(disk_, kPath, SegmentName(100), offset, max);
    EXPECT_TRUE(frames.ok()) << frames.status().message();
    return frames.ok() ? std::move(*frames) : std::vector<FrameReport>{};
  }
};

TEST_F(ListFramesTest, EveryFrameAndThenTheFreeSpace) {
  Build(100, 105);
  const std::vector<FrameReport> frames = List(0, kAll);
  ASSERT_EQ(frames.size(), kRecords + 1);
  for (uint64_t i = 0; i < kRecords; ++i) {
    EXPECT_EQ(frames[i].status, DecodeStatus::kWhole);
    EXPECT_EQ(frames[i].offset, OffsetOf(i));
    EXPECT_EQ(frames[i].bytes, OffsetOf(i + 1) - OffsetOf(i));
    EXPECT_EQ(frames[i].fields.seq, 100 + i);
  }
  EXPECT_EQ(frames.back().status, DecodeStatus::kFree);
  EXPECT_EQ(frames.back().offset + frames.back().bytes, kSegmentBytes);
}

TEST_F(ListFramesTest, DamageReachesToTheNextWholeFrame) {
  struct Row {
    std::vector<uint64_t> damaged;
    size_t entries;
  };
  const Row rows[] = {
      {{103}, kRecords + 1}, {{103, 104, 105}, kRecords - 1}, {{108, 109}, kRecords - 1}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.damaged.size());
    Build(100, 0);
    for (const uint64_t seq : row.damaged) Damage(100, seq);
    const std::vector<FrameReport> frames = List(0, kAll);
    ASSERT_EQ(frames.size(), row.entries);
    const FrameReport& damage = frames[row.damaged.front() - 100];
    EXPECT_EQ(damage.status, DecodeStatus::kBadCrc);
    const bool to_the_end = row.damaged.back() == 109;
    EXPECT_EQ(damage.offset + damage.bytes,
              to_the_end ? kSegmentBytes : OffsetOf(row.damaged.back() + 1 - 100));
  }
}

TEST_F(ListFramesTest, AListIsARangeOfFrames) {
  Build(100, 0);
  const std::vector<FrameReport> frames = List(OffsetOf(4), 3);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames.front().fields.seq, 104u);
  EXPECT_EQ(frames.back().fields.seq, 106u);
}

TEST_F(ListFramesTest, OnlySegmentsHaveFrames) {
  Build(100, 0);
  const auto code = [this](const std::string& name) {
    return ListFrames(disk_, kPath, name, 0, kAll).status().code();
  };
  EXPECT_EQ(code(kLockName), Code::kInvalidArgument);
  EXPECT_EQ(code("../" + SegmentName(100)), Code::kInvalidArgument);
  EXPECT_EQ(code(SegmentName(101)), Code::kNotFound);
}

using ListFramesInFolderTest = PlatformTest;

TEST_F(ListFramesInFolderTest, AMissingFolderIsNotMade) {
  const std::string path = PathOf("none");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ListFrames(DefaultFileSystem(), path, SegmentName(0), 0, kAll).status().code(),
              Code::kNotFound);
    EXPECT_FALSE(DefaultFileSystem().OpenDirectory(path, false).ok());
  }
}

}  // namespace
}  // namespace durlog
