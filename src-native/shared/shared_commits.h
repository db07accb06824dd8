// The records of the log that are not at their level yet, and the jobs that bring them there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/executor.h"
#include "base/status.h"
#include "shared/log_walk.h"
#include "shared/member.h"
#include "shared/reach_job.h"
#include "shared/shared_append_point.h"
#include "shared/stall.h"
#include "write/ack_ledger.h"
#include "write/eager_size.h"
#include "write/log_listener.h"
#include "write/log_state.h"
#include "write/options.h"

namespace durlog {

// One sync runs, and a second one may wait for it. A sync covers the records of all members. If one
// fails, every member latches the log.
class SharedCommits {
 public:
  // All arguments must outlive the commits.
  SharedCommits(std::shared_ptr<Member> member, const LogOptions& options,
                const SharedAppendPoint& point, LogState& state);
  void Attach(Executor* executor, LogListener* listener) {
    executor_ = executor;
    listener_ = listener;
  }
  void Start(const LogPoint& point);
  // Waits for the running jobs.
  void Stop();

  // The end of all frames that are known to be whole. Requires Start().
  const LogPoint& committed() const { return committed_->point(); }
  bool started() const { return committed_.has_value(); }
  bool IsAt(const LogPoint& point) const { return committed_->IsAt(*point.segment, point.offset); }
  // Notes that every frame before `point` is whole.
  void MoveTo(const LogPoint& point) { committed_->MoveTo(point); }

  uint64_t ReachedEnd(Level level) const { return acks_.ReachedEnd(level); }
  // Requests `level` for every record below `end`.
  void Want(Level level, uint64_t end) { acks_.Want(level, end); }
  uint64_t pending_bytes() const { return pending_bytes_ + syncing_bytes_ + next_syncing_bytes_; }
  uint64_t count() const { return count_; }
  bool idle() const;

  // Notes that this member has published a frame, after which the append point is.
  void NoteAppended(const Place& place, Level level);
  // Reads the progress of the other members. Called after every step that may raise the reached
  // ends, but never by Pump(): see Pump().
  void Refresh();
  // Syncs the records of this member before it is idle, unless another member delays that.
  void BeginClose();
  // Whether a group is synced before the end of its turn: while the device writes one group, the
  // next one is framed, and its sync begins as soon as the device is free.
  bool BeginsEarly() const {
    return pending_bytes_ >= eager_size_.bytes() && (!next_sync_job_ || sync_job_->done());
  }
  // Starts a job for every end that is wanted and not known to be reached, even if it has been
  // reached in the meantime: the end of the job notifies the caller.
  void Pump();
  // Reads the progress of the other members only after a job has ended: the caller settles promises
  // only then.
  void Harvest();
  // The caller's thread waits and syncs. On success, every record below `end` has reached `level`.
  // Fails if another member delays these records for too long, or if a sync fails.
  Status AwaitLevel(uint64_t end, Level level);
  void AwaitSync() {
    if (sync_job_) sync_job_->Await();
  }

  // OK unless the log is latched. Latches it if another member has latched it.
  Status CheckLatch() {
    if (state_.latched()) return state_.LatchedError();
    return member_->page().Load(PageWord::kLatched) == 0 ? Status::Ok() : LatchAsOthers();
  }
  // Handles a failure of the append point, and latches the log if the point is broken. Returns the
  // error of the call.
  Status Fail(Status failure);
  // Leaves the slot, so that the other members treat this member as dead and replace the
  // reservations that it cannot finish with voids.
  void Latch(Status status);
  // Notes that this member waits, or no longer waits, for another one that makes the next segment.
  void NoteRoomStall(const std::optional<Stall>& stall) { NoteStall(stall, &room_stalls_); }

 private:
  void RaiseMemory();
  void RaiseReached();
  bool WantsSync() const { return acks_.DueLevel().value_or(Level::kMemory) > Level::kMemory; }
  std::shared_ptr<ReachJob> MakeReach(uint64_t end, Level level);
  std::shared_ptr<ReachJob> MakeSync();
  void FinishReach(std::shared_ptr<ReachJob>* job, StallStreak* streak);
  void NoteStall(const std::optional<Stall>& stall, StallStreak* streak);
  void NoteUnreached(Status status);
  Status LatchAsOthers();

  const std::shared_ptr<Member> member_;
  const LogOptions& options_;
  const SharedAppendPoint& point_;
  LogState& state_;
  Executor* executor_ = nullptr;
  LogListener* listener_ = nullptr;

  std::optional<LogWalk> committed_;
  AckLedger acks_;
  uint64_t own_end_ = 0;        // after the last record that this member has appended
  uint64_t pending_bytes_ = 0;  // appended since the last sync began
  uint64_t syncing_bytes_ = 0;  // of sync_job_
  uint64_t next_syncing_bytes_ = 0;
  EagerSize eager_size_;
  uint64_t count_ = 0;

  std::shared_ptr<ReachJob> memory_job_;
  std::shared_ptr<ReachJob> sync_job_;
  std::shared_ptr<ReachJob> next_sync_job_;  // of the group that waits for sync_job_
  StallStreak memory_stalls_;
  StallStreak sync_stalls_;
  StallStreak room_stalls_;
  bool closed_unsynced_ = false;
};

}  // namespace durlog
