#include "write/record_clock.h"

#include <gtest/gtest.h>

#include "observed_file_system.h"

namespace durlog {
namespace {

TEST(RecordClockTest, TheClockIsReadForTheFirstAppendOfATurnAndThenForEvery17th) {
  ObservedFileSystem files([](const ObservedCall&) { return Status::Ok(); });
  RecordClock clock(files);
  EXPECT_TRUE(clock.Tick());
  const uint64_t first = clock.now_ms();
  files.clock_ahead_ms = 3'600'000;
  for (int i = 0; i < 16; ++i) EXPECT_FALSE(clock.Tick());
  EXPECT_EQ(clock.now_ms(), first);
  EXPECT_TRUE(clock.Tick());
  EXPECT_GE(clock.now_ms(), first + files.clock_ahead_ms);
  clock.Refresh();
  EXPECT_TRUE(clock.Tick());
}

}  // namespace
}  // namespace durlog
