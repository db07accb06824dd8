#include "read/recent_frames.h"

#include <gtest/gtest.h>

#include <string>

namespace durlog {
namespace {

class RecentFramesTest : public testing::Test {
 protected:
  static Bytes BytesOf(const std::string& text) {
    return Bytes{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  }
  std::string ReadFrom(uint64_t salt, uint64_t offset, size_t capacity = 1 << 20) {
    std::string text(capacity, '\0');
    text.resize(frames_.Read(salt, offset, text.data(), capacity));
    return text;
  }

  RecentFrames frames_;
};

TEST_F(RecentFramesTest, GroupsThatFollowOneAnotherAreReadFromAnyOffset) {
  frames_.Note(7, 4096, BytesOf("abcd"));
  frames_.Note(7, 4100, BytesOf("efgh"));
  EXPECT_EQ(ReadFrom(7, 4096), "abcdefgh");
  EXPECT_EQ(ReadFrom(7, 4102), "gh");
  EXPECT_EQ(ReadFrom(7, 4096, 3), "abc");
  EXPECT_EQ(ReadFrom(7, 4095), "");
  EXPECT_EQ(ReadFrom(7, 4104), "");
  EXPECT_EQ(ReadFrom(8, 4096), "");
}

TEST_F(RecentFramesTest, AGroupAfterAGapReplacesWhatIsHeld) {
  frames_.Note(7, 4096, BytesOf("abcd"));
  frames_.Note(7, 5000, BytesOf("efgh"));
  EXPECT_EQ(ReadFrom(7, 4096), "");
  EXPECT_EQ(ReadFrom(7, 5000), "efgh");
  // A group that is not held leaves a gap.
  frames_.Note(7, 5004, BytesOf(std::string(RecentFrames::kMaxGroupBytes + 1, 'x')));
  frames_.Note(7, 5004 + RecentFrames::kMaxGroupBytes + 1, BytesOf("ijkl"));
  EXPECT_EQ(ReadFrom(7, 5004), "");
}

TEST_F(RecentFramesTest, ASegmentHoldsABoundedNumberOfBytes) {
  const std::string group(RecentFrames::kMaxGroupBytes, 'x');
  for (uint64_t i = 0; i < 5; ++i) frames_.Note(7, 4096 + i * group.size(), BytesOf(group));
  EXPECT_EQ(ReadFrom(7, 4096), "");
  EXPECT_EQ(ReadFrom(7, 4096 + 4 * group.size()), group);
}

TEST_F(RecentFramesTest, ABoundedNumberOfSegmentsIsHeldThoseUsedLast) {
  for (uint64_t salt = 1; salt <= 64; ++salt) frames_.Note(salt, 4096, BytesOf("a"));
  EXPECT_EQ(ReadFrom(1, 4096), "a");
  frames_.Note(65, 4096, BytesOf("a"));
  EXPECT_EQ(ReadFrom(1, 4096), "a");
  EXPECT_EQ(ReadFrom(2, 4096), "");
}

TEST_F(RecentFramesTest, AForgottenSegmentIsNotRead) {
  frames_.Note(7, 4096, BytesOf("abcd"));
  frames_.Note(8, 4096, BytesOf("efgh"));
  frames_.Forget(7);
  frames_.Forget(9);
  EXPECT_EQ(ReadFrom(7, 4096), "");
  EXPECT_EQ(ReadFrom(8, 4096), "efgh");
}

}  // namespace
}  // namespace durlog
