// Group commit: all records appended while one commit runs form the next one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/executor.h"
#include "live/live_page_writer.h"
#include "log/append_point.h"
#include "log/commit_job.h"
#include "log/commit_meter.h"
#include "log/segment_chain.h"
#include "platform/file_system.h"
#include "write/ack_ledger.h"
#include "write/eager_size.h"
#include "write/log_listener.h"
#include "write/log_state.h"
#include "write/options.h"

namespace durlog {

// At most one commit runs on a worker. When it has ended, its records are acknowledged, or they are
// rolled back and appending resumes at the commit's start, or the log is latched.
class CommitCycle {
 public:
  // All arguments must outlive the cycle. `lock`: see CommitPlan.
  CommitCycle(FileSystem& file_system, Directory& directory, const LogOptions& options,
              AppendPoint& point, SegmentChain& chain, LivePageWriter& live, LogState& state,
              const std::optional<FileId>& lock);
  // Waits for the running commit.
  ~CommitCycle();
  CommitCycle(const CommitCycle&) = delete;
  CommitCycle& operator=(const CommitCycle&) = delete;
  void Attach(Executor* executor, LogListener* listener);

  // Notes that every record of the log is on the device. `end_stated`: the log states this.
  void Reset(bool end_stated);
  // Notes that a record was appended, so nothing states that the last record is synced.
  void NoteAppended() { end_ = End::kUnstated; }
  // Notes that every record below `end` is stored in a map.
  void NoteStored(uint64_t end) { acks_.Reach(Level::kMemory, end); }
  // Requests `level` for every record below `end`.
  void Want(Level level, uint64_t end) { acks_.Want(level, end); }

  const AckLedger& acks() const { return acks_; }
  bool idle() const { return commit_ == nullptr && !CommitWanted(); }
  bool running() const { return commit_ != nullptr; }
  // Whether a group of this size is committed before the end of its turn, and no commit runs.
  bool BeginsEarly(uint64_t group_bytes) const {
    return group_bytes >= eager_size_.bytes() && (!commit_ || commit_->done());
  }
  // The number of commits that were rolled back. If it has changed, a caller must not append a
  // record that follows the lost ones.
  uint64_t rollbacks() const { return rollbacks_; }

  // Begins a commit if one is wanted and none is running.
  void Pump();
  // Finishes the commit if it has ended.
  void Harvest();
  // Waits for the running commit without finishing it.
  void AwaitJob();
  // The caller's thread does the commits until every record below `end` has reached `level`.
  Status AwaitLevel(uint64_t end, Level level) {
    return acks_.ReachedEnd(level) >= end ? Status::Ok() : CommitUntil(end, level);
  }
  // The caller's thread does the commits until every record is synced and no commit is running.
  Status AwaitQuiet();
  // Maps the append point, after waiting for the running commit, which may be writing directly.
  Status EnterMap();

  // Handles the failed store of a frame: cuts what it has left, which waits for the running commit.
  // Latches the log if the bytes at the append point are unknown. Returns the error of the append.
  Status FailStore(Status failure);
  // Latches the log after `status`: see LogListener::OnFailure(). Returns the error of the call.
  Status Latch(Status status, uint64_t first_seq, uint64_t unknown_before);
  // Latches the log; the records that were appended are all stored.
  Status LatchHere(Status status) {
    return Latch(std::move(status), point_.next_seq(), point_.next_seq());
  }

  // Publishes how far readers outside this log may read. Does nothing during a rotation, or during
  // a truncation, which has already lowered the ends.
  void PublishEnds();
  void Report(LogStats* stats) const { meter_.Report(file_system_, stats); }

 private:
  // Whether the log states that every record is synced: in its newest segment's slot, when it is
  // closed.
  enum class End : uint8_t {
    kUnstated,
    kStating,  // the next commit states it, or is doing so
    kStated,   // durably, or not needed because the log holds no record
  };

  bool CommitWanted() const;
  Level WantedLevel() const;
  std::shared_ptr<CommitJob> Begin();
  void FinishRunning();
  void Finish(CommitJob& job);
  void FinishDone(CommitJob& job);
  void FinishRolledBack(CommitJob& job);
  Status CommitUntil(uint64_t end, Level level);
  void RunHere();
  void WriteHere();

  FileSystem& file_system_;
  Directory& directory_;
  AppendPoint& point_;
  SegmentChain& chain_;
  LivePageWriter& live_;
  LogState& state_;
  const std::optional<FileId> lock_;
  Executor* executor_ = nullptr;
  LogListener* listener_ = nullptr;

  AckLedger acks_;
  std::shared_ptr<CommitJob> commit_;  // the running commit; null if there is none
  EagerSize eager_size_;
  CommitMeter meter_;
  End end_ = End::kUnstated;
  uint64_t rollbacks_ = 0;
  Status failure_;                     // of the last commit that failed
  uint64_t failed_from_ = UINT64_MAX;  // the first seq that the last rollback lost
};

}  // namespace durlog
