// Tests of a follower in the process of a log that writes directly: its records are not in the page
// cache.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "inspect/extent.h"
#include "log_test_folder.h"
#include "observed_file_system.h"
#include "read/log_reader.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

class FollowDirectTest : public LogTestFolder {
 protected:
  FollowDirectTest() : files_([](const ObservedCall&) { return Status::Ok(); }) {}

  void SetUp() override {
    LogTestFolder::SetUp();
    const Result<Capabilities> can = folder_->Probe();
    if (can.ok() && !can->direct_io) GTEST_SKIP() << "there is no direct I/O on this file system";
    log_ = Open(SmallOptions(Strategy::kDirect));
  }
  void AppendSynced(const std::string& payload) {
    ASSERT_TRUE(Append(*log_, payload, Level::kSync).ok());
    Settle(*log_);
  }
  // The records from `seq` to below `limit` that need no read; its files have no bytes in the page
  // cache.
  std::optional<ReadBatch> ReadHeld(uint64_t seq, uint64_t limit = 100,
                                    const std::string& log = "log") {
    Result<std::unique_ptr<LogReader>> reader = LogReader::Open(files_, PathOf(log), 0);
    if (!reader.ok()) return std::nullopt;
    uint8_t buffer[16 << 10];
    ReadEntry entries[64];
    for (;;) {
      std::optional<ReadBatch> batch =
          (*reader)->NextCached(buffer, sizeof buffer, entries, 1, limit);
      if (!batch || batch->first_seq == seq) return batch;
    }
  }

  ObservedFileSystem files_;
  std::unique_ptr<Log> log_;
};

TEST_F(FollowDirectTest, RecordsThatAreWrittenDirectlyNeedNoReadOfTheDevice) {
  AppendSynced("first");
  EXPECT_TRUE(ReadHeld(0));
  AppendSynced("second");
  EXPECT_TRUE(ReadHeld(0));
  EXPECT_TRUE(ReadHeld(1));
  EXPECT_FALSE(ReadHeld(2));
}

TEST_F(FollowDirectTest, ACopyOfTheLastFramesNeedsNoReadOfThem) {
  AppendSynced("first");
  AppendSynced("second");
  int reads = 0;
  ObservedFileSystem files([&reads](const ObservedCall& call) {
    if (call.call == "read" && call.offset >= kSegmentHeaderBytes) reads++;
    return Status::Ok();
  });
  const Result<SegmentExtent> held =
      FindExtent(files, PathOf("log"), SegmentName(0), {0, 0, 2, UINT64_MAX});
  ASSERT_TRUE(held.ok()) << held.status().message();
  EXPECT_EQ(reads, 0);
  Close(std::move(log_));
  const Result<SegmentExtent> read =
      FindExtent(files, PathOf("log"), SegmentName(0), {0, 0, 2, UINT64_MAX});
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_GT(reads, 0);
  const auto frames_of = [](const SegmentExtent& extent) {
    return std::string(extent.copy.data() + kSegmentHeaderBytes,
                       extent.copy.data() + extent.copy_bytes);
  };
  EXPECT_EQ(held->records, 2u);
  EXPECT_EQ(frames_of(*held), frames_of(*read));
}

TEST_F(FollowDirectTest, ACopyOfTheLogHasRecordsOfItsOwn) {
  AppendSynced("of both");
  std::filesystem::copy(PathOf("log"), PathOf("copy"));
  AppendSynced("of the log");
  EXPECT_TRUE(ReadHeld(1));
  EXPECT_FALSE(ReadHeld(0, 100, "copy"));
  EXPECT_FALSE(ReadHeld(1, 100, "copy"));
}

TEST_F(FollowDirectTest, ARecordThatIsLongerThanTheLastOneNeedsNoReadOfTheDevice) {
  AppendSynced("first");
  AppendSynced(std::string(12 << 10, 'x'));
  EXPECT_TRUE(ReadHeld(1, 2));
}

TEST_F(FollowDirectTest, RecordsThatAreTruncatedAreNotHeld) {
  AppendSynced("first");
  AppendSynced("second");
  const Result<std::shared_ptr<TruncateJob>> job = log_->BeginTruncate(1);
  ASSERT_TRUE(job.ok()) << job.status().message();
  (*job)->RunOnce();
  ASSERT_TRUE(log_->FinishTruncate(**job).ok());
  EXPECT_FALSE(ReadHeld(1));
  AppendSynced("third");
  EXPECT_FALSE(ReadHeld(0));  // only the third is held
  const std::vector<std::string> expected = {"first", "third"};
  EXPECT_EQ(ReadFrom(0), expected);
}

TEST_F(FollowDirectTest, ASegmentThatIsSealedOrClosedIsNotHeld) {
  AppendSynced("first");
  const Result<std::shared_ptr<RotateJob>> rotation = log_->BeginRotate();
  ASSERT_TRUE(rotation.ok()) << rotation.status().message();
  (*rotation)->RunOnce();
  ASSERT_TRUE(log_->FinishRotate(**rotation).ok());
  EXPECT_FALSE(ReadHeld(0));
  log_.reset();
  log_ = Open(SmallOptions(Strategy::kDirect));
  AppendSynced("second");
  Close(std::move(log_));
  EXPECT_FALSE(ReadHeld(1));
}

}  // namespace
}  // namespace durlog
