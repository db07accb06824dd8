// Retention and power cuts: a cut never takes a cursor back to removed records.
#include "retention/cursor_syncs.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "cursor/cut_list.h"
#include "cursor/durable_cursor.h"
#include "log_test_folder.h"
#include "observed_file_system.h"

namespace durlog {
namespace {

class CursorSyncsTest : public LogTestFolder {
 protected:
  CursorSyncsTest() : file_system_([this](const ObservedCall& call) { return Observe(call); }) {
    log_ = Open(SmallOptions(Strategy::kPwrite), file_system_);
    policy_.max_age_ms = 1000;
    // The first rotation replaces a segment that is too young for them.
    Fill(4);
    Result<std::unique_ptr<DurableCursor>> cursor =
        DurableCursor::Open(DefaultFileSystem(), PathOf("log"), "mailer");
    EXPECT_TRUE(cursor.ok()) << cursor.status().message();
    cursor_ = std::move(*cursor);
    EXPECT_TRUE(cursor_->Place(0, 0, 0).ok());
  }
  // Appends old records until `rotations` segments were begun.
  void Fill(size_t rotations) {
    const uint64_t old_ms = file_system_.NowMs() - 5000;
    while (listener_.rotated.size() < rotations) {
      const Result<uint64_t> seq =
          log_->AppendSync(AsBytes(std::string(1000, 'x')), Level::kSync, old_ms);
      EXPECT_TRUE(seq.ok()) << seq.status().message();
    }
  }
  RetentionPlan Planned() {
    const std::shared_ptr<RetentionJob> job = log_->BeginRetention(policy_);
    job->Await();
    EXPECT_TRUE(job->plan().ok()) << job->plan().status().message();
    return job->plan().value();
  }
  void PassAll() { EXPECT_TRUE(cursor_->Commit(log_->next_seq(), log_->next_seq()).ok()); }

  RetentionPolicy policy_;
  int syncs_ = 0;
  bool fails_ = false;
  int error_ = EIO;
  std::string unopened_;  // there is no descriptor for this file
  std::unique_ptr<Log> log_;
  std::unique_ptr<DurableCursor> cursor_;

 private:
  Status Observe(const ObservedCall& call) {
    if (call.call == "open" && call.name == unopened_) {
      return Status::System("openat", EMFILE, call.name);
    }
    if (call.name != "mailer.cursor" || call.call != "sync-data") return Status::Ok();
    ++syncs_;
    return fails_ ? Status::System("fdatasync", error_, call.name) : Status::Ok();
  }
  ObservedFileSystem file_system_;
};

TEST_F(CursorSyncsTest, APositionIsOnTheDeviceBeforeWhatItHasPassedGoes) {
  EXPECT_EQ(Planned().segments, 0u);
  EXPECT_EQ(syncs_, 0) << "nothing goes";
  PassAll();
  EXPECT_EQ(Planned().segments, 3u);
  EXPECT_EQ(syncs_, 1);
}

TEST_F(CursorSyncsTest, RecordsThatReplacedCutRecordsAreKeptUntilTheCursorHasReadThem) {
  PassAll();
  const Result<std::shared_ptr<TruncateJob>> cut = log_->BeginTruncate(9);
  ASSERT_TRUE(cut.ok());
  (*cut)->RunOnce();
  ASSERT_TRUE(log_->FinishTruncate(**cut).ok());
  Fill(listener_.rotated.size() + 4);
  EXPECT_EQ(Planned().segments, 0u);
  EXPECT_TRUE(cursor_->Place(log_->next_seq(), log_->next_seq(), 1).ok());
  EXPECT_GE(Planned().segments, 3u);
}

TEST_F(CursorSyncsTest, ALimitOfBytesWaitsForThePositionToo) {
  policy_.max_age_ms.reset();
  policy_.max_bytes = 4 * log_->options().segment_bytes;
  EXPECT_EQ(Planned().segments, 2u);
  EXPECT_EQ(syncs_, 1);
  policy_.keep_for_cursors = false;
  EXPECT_EQ(Planned().segments, 2u);
  EXPECT_EQ(syncs_, 1) << "cursors are not looked at";
}

TEST_F(CursorSyncsTest, WithoutTheListOfCutsNoPositionIsKnown) {
  PassAll();
  const Result<std::shared_ptr<TruncateJob>> cut = log_->BeginTruncate(9);
  ASSERT_TRUE(cut.ok());
  (*cut)->RunOnce();
  ASSERT_TRUE(log_->FinishTruncate(**cut).ok());
  Fill(listener_.rotated.size() + 4);
  unopened_ = kCutsName;
  EXPECT_EQ(Planned().segments, 0u) << "the cursor has not read the records after the cut";
}

TEST_F(CursorSyncsTest, APositionIsKnownAgainOnceThereAreDescriptors) {
  PassAll();
  fails_ = true;
  error_ = EMFILE;
  EXPECT_EQ(Planned().segments, 0u);
  fails_ = false;
  EXPECT_EQ(Planned().segments, 3u);
}

TEST_F(CursorSyncsTest, AfterAFailedSyncAPositionIsNotKnownAnyMore) {
  PassAll();
  fails_ = true;
  EXPECT_EQ(Planned().segments, 0u);
  fails_ = false;
  EXPECT_EQ(Planned().segments, 0u) << "a second sync returns 0, and the pages may be lost";
}

}  // namespace
}  // namespace durlog
