#include "read/measure.h"

#include <gtest/gtest.h>

#include <string>

#include "log_test_folder.h"

namespace durlog {
namespace {

class MeasureTest : public LogTestFolder {};

TEST_F(MeasureTest, CountsTheSpaceOfEachSegment) {
  LogOptions options = SmallOptions(Strategy::kMmap);
  options.first_segment_bytes = 64 << 10;
  options.segment_bytes = 1 << 20;
  const auto log = Open(options);
  while (log->Stats().segments < 8) {
    ASSERT_TRUE(Append(*log, std::string(1000, 'x'), Level::kMemory).ok());
  }
  ASSERT_TRUE(log->Sync(Level::kSync).ok());
  FileSystem& file_system = DefaultFileSystem();
  const auto distance = MeasureDistance(file_system, PathOf("log"), 0, log->next_seq() - 1);
  ASSERT_TRUE(distance.ok()) << distance.status().message();
  const uint64_t growing = (64u << 10) + (128u << 10) + (256u << 10) + (512u << 10);
  const uint64_t sealed = growing + 3u * (1 << 20) - 7 * kSegmentHeaderBytes;
  EXPECT_EQ(distance->bytes, sealed + 1024);  // and one frame in the newest segment
}

}  // namespace
}  // namespace durlog
