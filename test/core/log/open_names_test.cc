// A log on a file system that refuses to rename over a file that is open.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "log/log.h"
#include "log_test_folder.h"
#include "memory_file_system.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

constexpr char kPath[] = "memory";
constexpr uint64_t kSmallSegmentBytes = 64 << 10;
constexpr uint64_t kLargeSegmentBytes = 256 << 10;

class OpenNamesTest : public testing::TestWithParam<Strategy> {
 protected:
  OpenNamesTest() { file_system_.files.keeps_open_names = true; }

  std::unique_ptr<Log> Open(uint64_t segment_bytes) {
    LogOptions options;
    options.strategy = GetParam();
    options.segment_bytes = segment_bytes;
    options.max_record_bytes = static_cast<uint32_t>(segment_bytes / 2);
    Result<std::unique_ptr<Log>> log = Log::Open(file_system_, kPath, options);
    EXPECT_TRUE(log.ok()) << log.status().message();
    if (!log.ok()) return nullptr;
    (*log)->Attach(&executor_, &listener_);
    return std::move(*log);
  }
  void ExpectAppended(Log& log, const std::string& payload) {
    const Result<uint64_t> seq = log.AppendSync(AsBytes(payload), Level::kSync);
    ASSERT_TRUE(seq.ok()) << seq.status().message();
  }

  void ExpectRotated(Log& log) {
    Result<std::shared_ptr<RotateJob>> rotation = log.BeginRotate();
    ASSERT_TRUE(rotation.ok()) << rotation.status().message();
    (*rotation)->RunOnce();
    ASSERT_TRUE(log.FinishRotate(**rotation).ok());
  }

  MemoryFileSystem file_system_;
  ThreadExecutor executor_;
  RecordingListener listener_;
};
INSTANTIATE_TEST_SUITE_P(Strategies, OpenNamesTest,
                         testing::Values(Strategy::kAuto, Strategy::kPwrite, Strategy::kDirect));

// Longer than a small segment, so that an empty one has to be replaced under its own name.
std::string LongPayload() { return std::string(kLargeSegmentBytes / 2, 'x'); }

TEST_P(OpenNamesTest, RecoverysEmptySegmentIsReplaced) {
  ASSERT_NE(Open(kSmallSegmentBytes), nullptr);
  std::unique_ptr<Log> log = Open(kLargeSegmentBytes);
  ExpectAppended(*log, LongPayload());
  ExpectAppended(*log, "behind it");
  EXPECT_FALSE(log->latched());
  log.reset();
  log = Open(kLargeSegmentBytes);
  EXPECT_EQ(log->next_seq(), 2u);
  EXPECT_EQ(log->recovery().state, RecoveryState::kClean);
}

// The segment that is replaced is the only one that states that all earlier records are synced.
TEST_P(OpenNamesTest, AReplacedSegmentsSuccessorStatesTheSameSyncedEnd) {
  std::unique_ptr<Log> log = Open(kSmallSegmentBytes);
  for (const char* payload : {"first", "last"}) ExpectAppended(*log, payload);
  ExpectRotated(*log);
  log.reset();
  log = Open(kLargeSegmentBytes);
  ExpectAppended(*log, LongPayload());
  log.reset();
  // As if the process had died before it stored the record, and with a damaged synced record.
  MemoryBytes& successor = *file_system_.files[SegmentName(2)];
  ASSERT_GT(successor.size(), kSegmentHeaderBytes);
  std::fill(successor.begin() + kSegmentHeaderBytes, successor.end(), uint8_t{0});
  MemoryBytes& sealed = *file_system_.files[SegmentName(0)];
  sealed[kSegmentHeaderBytes + FrameBytes(5) + kFrameHeaderBytes] ^= 1;
  log = Open(kLargeSegmentBytes);
  EXPECT_EQ(log->next_seq(), 2u) << "the seq of a synced record is assigned again";
  EXPECT_EQ(log->recovery().discarded_bytes, 0u);
}

// Of the last records, no frame states that they are synced.
TEST_P(OpenNamesTest, ARotatedLogStatesThatTheSealedSegmentIsSynced) {
  std::unique_ptr<Log> log = Open(kSmallSegmentBytes);
  for (const char* payload : {"first", "last"}) ExpectAppended(*log, payload);
  ExpectRotated(*log);
  MemoryFileSystem crashed;
  for (const auto& [name, bytes] : file_system_.files) {
    crashed.files[name] = std::make_shared<MemoryBytes>(*bytes);
  }
  MemoryBytes& sealed = *crashed.files[SegmentName(0)];
  sealed[kSegmentHeaderBytes + FrameBytes(5) + kFrameHeaderBytes] ^= 1;
  const Result<std::unique_ptr<Log>> again = Log::Open(crashed, kPath, log->options());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ((*again)->next_seq(), 2u) << "the seq of a synced record is assigned again";
}

TEST_P(OpenNamesTest, ATruncationsEmptySegmentIsReplaced) {
  std::unique_ptr<Log> log = Open(kSmallSegmentBytes);
  ExpectAppended(*log, "to be cut");
  log.reset();
  log = Open(kLargeSegmentBytes);
  Result<std::shared_ptr<TruncateJob>> cut = log->BeginTruncate(0);
  ASSERT_TRUE(cut.ok());
  (*cut)->RunOnce();
  ASSERT_TRUE(log->FinishTruncate(**cut).ok());
  cut->reset();
  ExpectAppended(*log, LongPayload());
  EXPECT_FALSE(log->latched());
}

TEST_P(OpenNamesTest, AnOpenEmptySegmentStays) {
  ASSERT_NE(Open(kSmallSegmentBytes), nullptr);
  std::unique_ptr<Log> log = Open(kLargeSegmentBytes);
  // A reader has it.
  const std::shared_ptr<MemoryBytes> reader = file_system_.files[SegmentName(0)];
  EXPECT_FALSE(log->AppendSync(AsBytes(LongPayload()), Level::kSync).ok());
  log.reset();
  log = Open(kSmallSegmentBytes);
  EXPECT_EQ(log->next_seq(), 0u);
  ExpectAppended(*log, "short");
}

}  // namespace
}  // namespace durlog
