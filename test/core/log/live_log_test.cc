// What readers in other processes learn of a log, and when.
#include <gtest/gtest.h>

#include <string>

#include "inspect/frames.h"
#include "inspect/verify.h"
#include "live/live_page_reader.h"
#include "log_test_folder.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

class LiveLogTest : public LogTestFolder, public testing::WithParamInterface<Strategy> {
 protected:
  LogOptions Options() const { return SmallOptions(GetParam()); }
  std::unique_ptr<LivePageReader> MakeReader() {
    Result<std::unique_ptr<LivePageReader>> reader =
        LivePageReader::Open(DefaultFileSystem(), PathOf("log"));
    if (!reader.ok()) std::abort();
    return std::move(reader.value());
  }
};

INSTANTIATE_TEST_SUITE_P(Strategies, LiveLogTest,
                         testing::Values(Strategy::kAuto, Strategy::kMmap, Strategy::kPwrite,
                                         Strategy::kDirect),
                         NameOfStrategy);

TEST_P(LiveLogTest, EachAcknowledgementIsThereWhenTheCallReturns) {
  const std::unique_ptr<Log> log = Open(Options());
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  ASSERT_TRUE(reader->Look());
  EXPECT_EQ(reader->Look()->uuid, log->uuid());
  // Nothing is pumped: an event loop that does not turn keeps no news from readers.
  for (uint64_t seq = 0; seq < 300; ++seq) {
    const std::string payload = PayloadOf(seq);
    const bool in_memory = seq % 3 != 0;
    const Result<uint64_t> got =
        in_memory ? log->Write(AsBytes(payload)) : log->AppendSync(AsBytes(payload), Level::kSync);
    ASSERT_TRUE(got.ok()) << got.status().message();
    const std::optional<LiveView> view = reader->Look();
    ASSERT_TRUE(view);
    EXPECT_EQ(view->memory_end, seq + 1);
    EXPECT_EQ(view->synced_end, log->ReachedEnd(Level::kSync));
    if (!in_memory) {
      EXPECT_EQ(view->synced_end, seq + 1);
    }
  }
}

TEST_P(LiveLogTest, WhatIsNotAcknowledgedIsNotTold) {
  const std::unique_ptr<Log> log = Open(Options());
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  AppendMany(*log, 200, Level::kSync);
  EXPECT_EQ(reader->Look()->memory_end, log->ReachedEnd(Level::kMemory));
  EXPECT_EQ(reader->Look()->synced_end, log->ReachedEnd(Level::kSync));
  Settle(*log);
  EXPECT_EQ(reader->Look()->synced_end, 200u);
}

TEST_P(LiveLogTest, ACommitBesideATrimDoesNotTakeTheLogsBeginningBack) {
  const std::unique_ptr<Log> log = Open(Options());
  AppendMany(*log, 600, Level::kSync);
  Settle(*log);
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  const std::shared_ptr<TrimJob> trim = log->BeginTrim(300);
  ASSERT_NE(trim, nullptr);
  const uint64_t first_seq = log->first_seq();
  EXPECT_GT(first_seq, 0u);
  AppendMany(*log, 100, Level::kSync);
  Settle(*log);
  EXPECT_EQ(reader->Look()->first_seq, first_seq);
  trim->RunOnce();
  log->FinishTrim(*trim);
  EXPECT_EQ(log->first_seq(), first_seq);
  EXPECT_EQ(reader->Look()->first_seq, first_seq);
}

TEST_P(LiveLogTest, ACutIsAnnouncedBeforeItsAcknowledgement) {
  const std::unique_ptr<Log> log = Open(Options());
  AppendMany(*log, 600, Level::kSync);
  Settle(*log);
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  ASSERT_TRUE(reader->Look());
  const std::shared_ptr<TrimJob> trim = log->BeginTrim(300);
  ASSERT_NE(trim, nullptr);
  EXPECT_GT(reader->Look()->first_seq, 0u) << "before the segments go";
  trim->RunOnce();
  log->FinishTrim(*trim);
  EXPECT_EQ(reader->Look()->first_seq, log->first_seq());
  const Result<std::shared_ptr<TruncateJob>> job = log->BeginTruncate(400);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(reader->TakeCut(), kNoCut);
  (*job)->RunOnce();
  EXPECT_EQ(reader->Look()->memory_end, 400u);
  EXPECT_EQ(reader->Look()->synced_end, 400u);
  EXPECT_EQ(reader->TakeCut(), 400u);
  ASSERT_TRUE(log->FinishTruncate(**job).ok());
  AppendMany(*log, 10, Level::kSync);
  Settle(*log);
  EXPECT_EQ(reader->Look()->synced_end, 410u);
  EXPECT_EQ(reader->TakeCut(), 400u) << "told again once the files are cut";
  ASSERT_TRUE(reader->Look());
  EXPECT_EQ(reader->TakeCut(), kNoCut);
}

TEST_P(LiveLogTest, AReaderLearnsOfTheNextWriter) {
  std::unique_ptr<Log> log = Open(Options());
  AppendMany(*log, 50, Level::kMemory);
  Settle(*log);
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  EXPECT_EQ(reader->Look()->memory_end, 50u);
  log.reset();  // as kill -9
  EXPECT_EQ(reader->Look()->memory_end, 50u);
  EXPECT_FALSE(MakeReader()->Look());
  log = Open(Options());
  AppendMany(*log, 20, Level::kSync);
  Settle(*log);
  EXPECT_EQ(reader->Look()->synced_end, 70u);
  Close(std::move(log));
  EXPECT_EQ(reader->Look()->synced_end, 70u);
  EXPECT_EQ(reader->TakeCut(), kNoCut);
}

TEST_P(LiveLogTest, VerifyIgnoresWhatIsBeingWritten) {
  const std::unique_ptr<Log> log = Open(Options());
  AppendMany(*log, 20, Level::kSync);
  Settle(*log);
  const Result<VerifyReport> before = Verify(DefaultFileSystem(), PathOf("log"));
  ASSERT_TRUE(before.ok());
  // A part of a frame, as a pwrite that is under way leaves it.
  const uint64_t at = before->segments.back().end_offset;
  {
    Result<std::unique_ptr<Directory>> directory =
        DefaultFileSystem().OpenDirectory(PathOf("log"), false);
    Result<std::unique_ptr<File>> file = (*directory)->Open(SegmentName(0), OpenMode::kReadWrite);
    ASSERT_TRUE((*file)->WriteAt(at + 40, "not whole", 9).ok());
  }
  const Result<VerifyReport> beside = Verify(DefaultFileSystem(), PathOf("log"));
  ASSERT_TRUE(beside.ok());
  EXPECT_EQ(beside->state, RecoveryState::kClean);
  EXPECT_TRUE(beside->problems.empty());
  EXPECT_EQ(beside->bounds.next_seq, 20u);
  EXPECT_EQ(beside->bounds.synced_end, 20u);
}

TEST_P(LiveLogTest, WhatRecoveryCutsIsTold) {
  std::unique_ptr<Log> log = Open(Options());
  AppendMany(*log, 50, Level::kMemory);
  Settle(*log);
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  const uint64_t synced = reader->Look()->synced_end;
  log.reset();
  const Result<std::vector<FrameReport>> frames =
      ListFrames(DefaultFileSystem(), PathOf("log"), SegmentName(0), 0, 1000);
  ASSERT_TRUE(frames.ok());
  for (const FrameReport& frame : *frames) {
    if (frame.fields.seq != 45 || frame.fields.state != FrameState::kCommitted) continue;
    Result<std::unique_ptr<Directory>> directory =
        DefaultFileSystem().OpenDirectory(PathOf("log"), false);
    Result<std::unique_ptr<File>> file = (*directory)->Open(SegmentName(0), OpenMode::kReadWrite);
    ASSERT_TRUE((*file)->WriteAt(frame.offset + 8, "damage", 6).ok());
  }
  Result<std::unique_ptr<Log>> again = Log::Open(DefaultFileSystem(), PathOf("log"), Options());
  if (!again.ok()) {
    EXPECT_EQ(again.status().code(), Code::kCorrupt);
    EXPECT_GT(synced, 45u);
    return;
  }
  EXPECT_EQ((*again)->next_seq(), 45u);
  EXPECT_EQ(reader->Look()->memory_end, 45u);
  EXPECT_EQ(reader->TakeCut(), 45u);
}

}  // namespace
}  // namespace durlog
