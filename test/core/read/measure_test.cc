#include "read/measure.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "log_test_folder.h"
#include "observed_file_system.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

constexpr uint64_t kRecordBytes = 1000;
constexpr uint64_t kFrameBytes = 1024;

class MeasureTest : public LogTestFolder {
 protected:
  void AppendUntil(Log& log, uint64_t segments) {
    const std::string payload(kRecordBytes, 'x');
    while (log.Stats().segments < segments) {
      ASSERT_TRUE(Append(log, payload, Level::kMemory).ok());
    }
    ASSERT_TRUE(log.Sync(Level::kSync).ok());
  }
  // The segments that a measurement from the first to the last record opens.
  std::set<std::string> OpenedBy(const Log& log) {
    std::set<std::string> opened;
    ObservedFileSystem observed([&opened](const ObservedCall& call) {
      if (call.call == "open" && ParseSegmentName(call.name)) opened.insert(call.name);
      return Status::Ok();
    });
    distance_ = MeasureDistance(observed, PathOf("log"), 0, log.next_seq() - 1);
    EXPECT_TRUE(distance_.ok()) << distance_.status().message();
    return opened;
  }

  Result<LogDistance> distance_ = LogDistance();
};

TEST_F(MeasureTest, ALongDistanceOpensFewSegments) {
  const auto log = Open(SmallOptions(Strategy::kMmap));
  AppendUntil(*log, 200);
  EXPECT_LE(OpenedBy(*log).size(), 4u);
  const uint64_t frames_per_segment = ((64 << 10) - kSegmentHeaderBytes) / kFrameBytes;
  EXPECT_EQ(log->next_seq(), 199 * frames_per_segment + 1);
  EXPECT_EQ(distance_->bytes, 199 * ((64u << 10) - kSegmentHeaderBytes) + kFrameBytes);
}

TEST_F(MeasureTest, SegmentsThatGrowAreMeasuredExactly) {
  LogOptions options = SmallOptions(Strategy::kMmap);
  options.first_segment_bytes = 64 << 10;
  options.segment_bytes = 1 << 20;
  const auto log = Open(options);
  AppendUntil(*log, 20);
  EXPECT_LE(OpenedBy(*log).size(), 16u);
  const uint64_t growing = (64u << 10) + (128u << 10) + (256u << 10) + (512u << 10);
  EXPECT_EQ(distance_->bytes, growing + 15u * (1 << 20) - 19 * kSegmentHeaderBytes + kFrameBytes);
}

}  // namespace
}  // namespace durlog
