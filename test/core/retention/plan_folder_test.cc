#include "retention/plan_folder.h"

#include <gtest/gtest.h>

#include "cursor/durable_cursor.h"
#include "inline_executor.h"
#include "log_test_folder.h"
#include "memory_file_system.h"
#include "observed_file_system.h"
#include "record/record_format.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

constexpr uint64_t kPlannedSegmentBytes = 64 << 10;

// A log of small segments on files in memory.
class PlanFolderTest : public testing::Test {
 protected:
  PlanFolderTest() {
    Result<std::unique_ptr<Log>> log =
        Log::Open(file_system_, "memory", SmallOptions(Strategy::kPwrite));
    EXPECT_TRUE(log.ok()) << log.status().message();
    log_ = std::move(*log);
    log_->Attach(&executor_, &listener_);
  }
  void AppendUntilRotated(size_t times, uint64_t time_ms) {
    const size_t rotated = listener_.rotated.size();
    while (listener_.rotated.size() < rotated + times) {
      const Result<uint64_t> seq =
          log_->AppendSync(AsBytes(std::string(1000, 'x')), Level::kSync, time_ms);
      ASSERT_TRUE(seq.ok()) << seq.status().message();
    }
  }
  RetentionPlan Planned() {
    const std::shared_ptr<RetentionJob> job = log_->BeginRetention(policy_);
    job->Await();
    EXPECT_TRUE(job->plan().ok());
    const Result<FolderPlan> outside = PlanFolder(file_system_, "memory", policy_);
    EXPECT_TRUE(outside.ok()) << outside.status().message();
    EXPECT_EQ(outside->plan.before, job->plan()->before);
    EXPECT_EQ(outside->plan.seal, job->plan()->seal);
    EXPECT_EQ(outside->segment_bytes, kPlannedSegmentBytes);
    return job->plan().value();
  }
  void TrimTo(uint64_t seq) {
    const std::shared_ptr<TrimJob> trim = log_->BeginTrim(seq);
    ASSERT_NE(trim, nullptr);
    trim->RunOnce();
    log_->FinishTrim(*trim);
  }

  MemoryFileSystem file_system_;
  InlineExecutor executor_;
  RecordingListener listener_;
  std::unique_ptr<Log> log_;
  RetentionPolicy policy_;
};

TEST_F(PlanFolderTest, BytesAreThoseOfTheFilesAndOfWhatComesNext) {
  AppendUntilRotated(6, Log::kClockTime);
  policy_.max_bytes = 5 * kPlannedSegmentBytes;
  const RetentionPlan plan = Planned();
  // Two that come next, the one that is appended to, and two sealed ones.
  EXPECT_EQ(plan.segments, 4u);
  EXPECT_EQ(plan.before, listener_.rotated[3]);
  TrimTo(plan.before);
  EXPECT_EQ(Planned().segments, 0u);
}

TEST_F(PlanFolderTest, TheAgeIsThatOfTheNewestRecordWhateverComesBehind) {
  const uint64_t now_ms = file_system_.NowMs();
  AppendUntilRotated(2, now_ms - 100000);
  policy_.max_age_ms = 80000;
  EXPECT_EQ(Planned().before, listener_.rotated[1]);
  EXPECT_TRUE(Planned().seal);
  // The first of these is in the third segment, which it makes a young one.
  AppendUntilRotated(3, now_ms - 50000);
  EXPECT_EQ(Planned().before, listener_.rotated[1]);
  policy_.max_age_ms = 40000;
  EXPECT_EQ(Planned().before, listener_.rotated[4]);
  EXPECT_TRUE(Planned().seal);
}

// The records after the damage may be the youngest ones.
TEST_F(PlanFolderTest, ASegmentWithADamagedRecordHasNoAgeOfItsOwn) {
  const uint64_t now_ms = file_system_.NowMs();
  const std::string payload(1000, 'x');
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(log_->AppendSync(AsBytes(payload), Level::kSync, now_ms - 100000).ok());
  }
  AppendUntilRotated(2, now_ms - 50000);
  const uint64_t young = kSegmentHeaderBytes + 3 * FrameBytes(payload.size());
  uint8_t& byte = (*file_system_.files[SegmentName(0)])[young + kFrameHeaderBytes];
  byte ^= 1;
  policy_.max_age_ms = 80000;
  EXPECT_EQ(Planned().before, 0u);
  policy_.max_age_ms = 40000;
  EXPECT_EQ(Planned().before, listener_.rotated.back()) << "the next segment shows its age";
}

TEST_F(PlanFolderTest, BehindASealedSegmentThereMayBeNoRecordYet) {
  const uint64_t now_ms = file_system_.NowMs();
  ASSERT_TRUE(log_->AppendSync(AsBytes("old"), Level::kSync, now_ms - 50000).ok());
  const Result<std::shared_ptr<RotateJob>> rotation = log_->BeginRotate();
  ASSERT_TRUE(rotation.ok() && *rotation != nullptr);
  (*rotation)->RunOnce();
  ASSERT_TRUE(log_->FinishRotate(**rotation).ok());
  policy_.max_age_ms = 60000;
  EXPECT_EQ(Planned().before, 0u);
  policy_.max_age_ms = 40000;
  EXPECT_EQ(Planned().before, 1u);
  EXPECT_FALSE(Planned().seal);
}

TEST_F(PlanFolderTest, CursorsCountWhereverTheyAreOpenAndOthersFilesDoNot) {
  AppendUntilRotated(4, file_system_.NowMs() - 50000);
  policy_.max_age_ms = 40000;
  Result<std::unique_ptr<DurableCursor>> cursor =
      DurableCursor::Open(file_system_, "memory", "slow");
  ASSERT_TRUE(cursor.ok());
  file_system_.files["short.cursor"] = std::make_shared<MemoryBytes>(100);
  const uint64_t position = listener_.rotated[1] + 1;
  ASSERT_TRUE((*cursor)->Place(position, position, 0).ok());
  EXPECT_EQ(Planned().before, listener_.rotated[1]);
  ASSERT_TRUE((*cursor)->Commit(listener_.rotated[2], listener_.rotated[2]).ok());
  EXPECT_EQ(Planned().before, listener_.rotated[2]);
  cursor->reset();
  EXPECT_EQ(Planned().before, listener_.rotated[2]);
  (*file_system_.files["slow.cursor"]).assign((*file_system_.files["slow.cursor"]).size(), 0);
  EXPECT_EQ(Planned().before, 0u) << "a damaged cursor";
}

TEST_F(PlanFolderTest, ATruncatedSegmentIsLookedAtAgain) {
  const uint64_t now_ms = file_system_.NowMs();
  AppendUntilRotated(2, now_ms - 50000);
  policy_.max_age_ms = 40000;
  EXPECT_EQ(Planned().before, listener_.rotated[1]);
  Result<std::shared_ptr<TruncateJob>> cut = log_->BeginTruncate(1);
  ASSERT_TRUE(cut.ok());
  (*cut)->RunOnce();
  ASSERT_TRUE(log_->FinishTruncate(**cut).ok());
  AppendUntilRotated(1, now_ms);
  AppendUntilRotated(1, now_ms);
  EXPECT_EQ(Planned().before, 0u);
}

TEST_F(LogTestFolder, ATrimWhileTheFolderIsReadIsNoFailureOfThePlan) {
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite));
  while (listener_.rotated.size() < 3) AppendMany(*log, 1, Level::kSync);
  Settle(*log);
  const uint64_t kept = listener_.rotated[1];
  bool trimmed = false;
  ObservedFileSystem file_system([&](const ObservedCall& call) {
    if (call.call != "open" || call.name != SegmentName(0)) return Status::Ok();
    const std::shared_ptr<TrimJob> trim = log->BeginTrim(kept);
    if (trim) {
      trim->RunOnce();
      log->FinishTrim(*trim);
      trimmed = true;
    }
    return Status::Ok();
  });
  RetentionPolicy policy;
  policy.max_bytes = 1 << 30;
  const Result<FolderPlan> planned = PlanFolder(file_system, PathOf("log"), policy);
  EXPECT_TRUE(trimmed);
  ASSERT_TRUE(planned.ok()) << planned.status().message();
  EXPECT_EQ(planned->plan.before, kept);
  Close(std::move(log));
}

}  // namespace
}  // namespace durlog
