// A log on a system where a store to a map may end the process, as Windows is.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "log/log.h"
#include "log_test_folder.h"
#include "memory_file_system.h"

namespace durlog {
namespace {

class UnsafeMapsTest : public testing::TestWithParam<Strategy> {
 protected:
  UnsafeMapsTest() {
    file_system_.files.capabilities.overwrites_in_place = true;
    file_system_.files.capabilities.survives_map_faults = false;
  }

  std::unique_ptr<Log> Open(const LogOptions& options) {
    return OpenAttached(file_system_, "memory", options, &executor_, &listener_);
  }

  MemoryFileSystem file_system_;
  ThreadExecutor executor_;
  RecordingListener listener_;
};
INSTANTIATE_TEST_SUITE_P(Strategies, UnsafeMapsTest,
                         testing::Values(Strategy::kAuto, Strategy::kMmap));

TEST_P(UnsafeMapsTest, NoMapIsUsedAndStatsSayWhy) {
  std::unique_ptr<Log> log = Open(SmallOptions(GetParam()));
  ASSERT_TRUE(log->Write(AsBytes("in memory")).ok());
  ASSERT_TRUE(log->AppendSync(AsBytes("on the device"), Level::kSync).ok());
  const LogStats stats = log->Stats();
  EXPECT_EQ(stats.mode, WriteMode::kPwrite);
  EXPECT_EQ(stats.mode_switches, 0u);
  EXPECT_NE(stats.reason.find("on this system"), std::string::npos) << stats.reason;
}

}  // namespace
}  // namespace durlog
