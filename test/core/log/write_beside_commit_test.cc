// Tests of write() in a pwrite log while a commit is in flight.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "live/live_page_reader.h"
#include "log_test_folder.h"
#include "observed_file_system.h"

namespace durlog {
namespace {

// A call that is held up until the test lets it go.
class Gate {
 public:
  // A test that waits longer has failed: the gate opens for good, so that it ends.
  static constexpr std::chrono::seconds kPatience{20};

  void Close() {
    const std::lock_guard<std::mutex> guard(mutex_);
    closed_ = true;
  }
  void Open() {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      closed_ = false;
    }
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!closed_) return;
    held_ = true;
    changed_.notify_all();
    if (!changed_.wait_for(lock, kPatience, [this] { return !closed_; })) GiveUp();
  }
  // Whether a call is held up.
  bool AwaitHeld() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [this] { return held_; })) GiveUp();
    return held_;
  }
  bool gave_up() {
    const std::lock_guard<std::mutex> guard(mutex_);
    return gave_up_;
  }

 private:
  void GiveUp() {
    gave_up_ = true;
    closed_ = false;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  bool held_ = false;
  bool gave_up_ = false;
};

class WriteBesideCommitTest : public LogTestFolder {
 protected:
  WriteBesideCommitTest()
      : file_system_([this](const ObservedCall& call) { return Observe(call); }, "btrfs") {
    log_ = Open(SmallOptions(Strategy::kAuto), file_system_);
  }
  ~WriteBesideCommitTest() override { syncs_.Open(); }

  // A commit of `count` records is out, has written them, and is held up in its sync.
  void BeginHeldCommit(uint64_t count) {
    syncs_.Close();
    AppendMany(*log_, count, Level::kSync);
    log_->Pump();
    ASSERT_TRUE(syncs_.AwaitHeld());
  }
  Result<uint64_t> WriteNext() { return log_->Write(AsBytes(PayloadOf(log_->next_seq()))); }
  void CloseAndExpect(uint64_t end) {
    Close(std::move(log_));
    log_ = Open(SmallOptions(Strategy::kAuto));
    EXPECT_EQ(log_->recovery().state, RecoveryState::kClean);
    EXPECT_EQ(log_->next_seq(), end);
    ExpectRecords(0, end);
  }

  Gate syncs_;
  std::atomic<bool> sync_fails_{false};
  std::atomic<bool> sync_full_fails_{false};
  std::atomic<bool> write_fails_{false};
  ObservedFileSystem file_system_;
  std::unique_ptr<Log> log_;

 private:
  Status Observe(const ObservedCall& call) {
    if (call.call == "sync-data") {
      syncs_.Pass();
      if (sync_fails_) return Status::System("fdatasync", EIO, call.name);
    }
    if (call.call == "sync-full" && sync_full_fails_) {
      return Status::System("fsync", EIO, call.name);
    }
    if (call.call == "write" && write_fails_) return Status::System("pwrite", ENOSPC, call.name);
    return Status::Ok();
  }
};

TEST_F(WriteBesideCommitTest, AWriteWaitsForNoSync) {
  BeginHeldCommit(1);
  const uint64_t first_held = log_->ReachedEnd(Level::kSync);
  for (int i = 0; i < 20; ++i) {
    const Result<uint64_t> seq = WriteNext();
    ASSERT_TRUE(seq.ok()) << seq.status().message();
    EXPECT_EQ(log_->ReachedEnd(Level::kMemory), *seq + 1);
    ExpectRecords(0, *seq + 1);
  }
  EXPECT_EQ(log_->ReachedEnd(Level::kSync), first_held);
  EXPECT_FALSE(syncs_.gave_up());
  syncs_.Open();
  const uint64_t end = log_->next_seq();
  log_->RequestSync(Level::kSync);
  Settle(*log_);
  EXPECT_EQ(log_->ReachedEnd(Level::kSync), end);
  CloseAndExpect(end);
}

TEST_F(WriteBesideCommitTest, StagedRecordsReachMemoryWithALaterWrite) {
  BeginHeldCommit(1);
  const uint64_t staged = log_->next_seq();
  AppendMany(*log_, 5, Level::kSync);
  ASSERT_TRUE(WriteNext().ok());
  EXPECT_EQ(log_->ReachedEnd(Level::kMemory), staged + 6);
  EXPECT_LE(log_->ReachedEnd(Level::kSync), staged);
  EXPECT_FALSE(syncs_.gave_up());
  syncs_.Open();
  Settle(*log_);
  // The appends are synced, though the write asked for less.
  EXPECT_GE(log_->ReachedEnd(Level::kSync), staged + 5);
  CloseAndExpect(staged + 6);
}

TEST_F(WriteBesideCommitTest, WritesBesideASyncKeepSegmentsInOrder) {
  BeginHeldCommit(1);
  while (listener_.rotated.size() < 3) ASSERT_TRUE(WriteNext().ok());
  EXPECT_TRUE(std::is_sorted(listener_.rotated.begin(), listener_.rotated.end()));
  EXPECT_EQ(log_->Stats().segments, 4u);
  EXPECT_FALSE(syncs_.gave_up());
  syncs_.Open();
  const uint64_t end = log_->next_seq();
  CloseAndExpect(end);
}

TEST_F(WriteBesideCommitTest, ARefusedWriteTakesBackNothing) {
  BeginHeldCommit(1);
  ASSERT_TRUE(WriteNext().ok());
  const uint64_t end = log_->next_seq();
  write_fails_ = true;
  EXPECT_EQ(WriteNext().status().code(), Code::kNoSpace);
  write_fails_ = false;
  EXPECT_FALSE(log_->latched());
  EXPECT_EQ(log_->next_seq(), end);
  EXPECT_EQ(log_->ReachedEnd(Level::kMemory), end);
  ASSERT_TRUE(WriteNext().ok());
  ExpectRecords(0, end + 1);
  EXPECT_FALSE(syncs_.gave_up());
  syncs_.Open();
  Settle(*log_);
  CloseAndExpect(end + 1);
}

TEST_F(WriteBesideCommitTest, AWriteBesideAFailedSyncIsUnknown) {
  BeginHeldCommit(1);
  ASSERT_TRUE(WriteNext().ok());
  EXPECT_FALSE(syncs_.gave_up());
  const uint64_t end = log_->next_seq();
  sync_fails_ = true;
  syncs_.Open();
  Settle(*log_);
  EXPECT_TRUE(log_->latched());
  ASSERT_EQ(listener_.failures.size(), 1u);
  EXPECT_EQ(listener_.failures[0].unknown_before, end);
}

TEST_F(WriteBesideCommitTest, ACommitThatEndsAfterTheLogHasLatchedRaisesNoEnd) {
  Result<std::unique_ptr<LivePageReader>> reader =
      LivePageReader::Open(DefaultFileSystem(), PathOf("log"));
  ASSERT_TRUE(reader.ok());
  BeginHeldCommit(2);
  const uint64_t synced = log_->ReachedEnd(Level::kSync);
  sync_full_fails_ = write_fails_ = true;
  ASSERT_FALSE(WriteNext().ok());
  ASSERT_TRUE(log_->latched());
  syncs_.Open();
  Settle(*log_);
  EXPECT_FALSE(syncs_.gave_up());
  EXPECT_EQ(log_->ReachedEnd(Level::kSync), synced);
  const std::optional<LiveView> view = (*reader)->Look();
  ASSERT_TRUE(view);
  EXPECT_EQ(view->synced_end, synced);
}

}  // namespace
}  // namespace durlog
