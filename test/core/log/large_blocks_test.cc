// Devices whose blocks are larger than a segment's header: real files, on which every direct write
// is held to that alignment.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <tuple>

#include "inspect/verify.h"
#include "log_test_folder.h"
#include "observed_file_system.h"

namespace durlog {
namespace {

class LargeBlocksTest : public LogTestFolder,
                        public testing::WithParamInterface<std::tuple<Strategy, uint32_t>> {
 protected:
  LargeBlocksTest() : file_system_([this](const ObservedCall& call) { return Observe(call); }) {
    file_system_.direct_alignment = alignment();
  }
  Strategy strategy() const { return std::get<0>(GetParam()); }
  uint32_t alignment() const { return std::get<1>(GetParam()); }

  ObservedFileSystem file_system_;
  std::atomic<uint64_t> direct_writes_{0};
  std::atomic<uint64_t> misaligned_{0};

 private:
  Status Observe(const ObservedCall& call) {
    if (std::string("write-direct") != call.call) return Status::Ok();
    ++direct_writes_;
    if ((call.offset | call.length) % alignment() != 0) ++misaligned_;
    return Status::Ok();
  }
};

std::string NameOfSizes(const testing::TestParamInfo<std::tuple<Strategy, uint32_t>>& info) {
  const char* const names[] = {"Auto", "Mmap", "Pwrite", "Direct"};
  return names[static_cast<size_t>(std::get<0>(info.param))] +
         std::to_string(std::get<1>(info.param));
}
INSTANTIATE_TEST_SUITE_P(Strategies, LargeBlocksTest,
                         testing::Combine(testing::Values(Strategy::kAuto, Strategy::kMmap,
                                                          Strategy::kPwrite, Strategy::kDirect),
                                          testing::Values(8192u, 16384u)),
                         NameOfSizes);

TEST_P(LargeBlocksTest, WhatIsAcknowledgedIsReadAfterEachReopen) {
  LogOptions options = SmallOptions(strategy());
  options.segment_bytes = 68 << 10;  // ends within a block
  for (uint64_t run = 1; run <= 3; ++run) {
    std::unique_ptr<Log> log = Open(options, file_system_);
    ASSERT_NE(log, nullptr);
    EXPECT_EQ(log->recovery().state, RecoveryState::kClean);
    const bool direct = log->Stats().mode == WriteMode::kDirect;
    AppendMany(*log, 250, Level::kSync);
    Settle(*log);
    EXPECT_EQ(log->ReachedEnd(Level::kSync), run * 250);
    ExpectRecords(0, run * 250);
    EXPECT_TRUE(!direct || direct_writes_ > 0);
    // Every other time as by kill -9: without the marker of a close.
    if (run % 2 == 0) log.reset();
    if (log) Close(std::move(log));
    ExpectRecords(0, run * 250);
  }
  EXPECT_EQ(misaligned_, 0u);
  EXPECT_TRUE(listener_.failures.empty());
  const Result<VerifyReport> report = Verify(DefaultFileSystem(), PathOf("log"));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->state, RecoveryState::kClean);
  EXPECT_EQ(report->records, 750u);
  for (const SegmentReport& segment : report->segments) EXPECT_EQ(segment.header_problem, "");
}

}  // namespace
}  // namespace durlog
