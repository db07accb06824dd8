// Leaving the writers of a log.
#include <memory>
#include <utility>

#include "shared/members_lock.h"
#include "shared/shared_log.h"
#include "shared/steps.h"

namespace durlog {

SharedLog::~SharedLog() {
  for (const std::shared_ptr<ReachJob>& job : {memory_job_, sync_job_, next_sync_job_}) {
    if (!job) continue;
    job->Cancel();
    job->Await();
  }
  if (spare_job_) spare_job_->Cancel();
  if (spare_job_) spare_job_->Await();
  if (populate_job_) populate_job_->Cancel();
  if (populate_job_) populate_job_->Await();
  trims_.CancelAll();
  trims_.AwaitAll();
  if (!committed_) return;  // the log was not opened completely
  if (closing_ && !latched_) {
    Leave();
  } else {
    LeaveLocks();
  }
}

// Not done by the destructor of the member, because a job may hold the member longer.
void SharedLog::LeaveLocks() {
  member_->LeaveSlot();
  member_->live().Leave();
  static_cast<void>(member_->lock().UnlockRange(0, 0).ok());
}

// The last member marks the end, so that the next open knows that everything is synced. If this
// fails, the next open reads a little more, and nothing is lost. The exclusive lock is released
// before another process can join, because joining takes a shared lock. If another member is
// stopped while it joins or leaves, this member leaves without a marker, as if it had died.
void SharedLog::Leave() {
  JoinLock leaving(*member_);
  if (!leaving.Take(options_.stall_ms).ok()) return LeaveLocks();
  AtStep(Step::kLeaving);
  const Result<bool> last = member_->lock().TryLockRange(LockKind::kExclusive, 0, 0);
  if (last.ok() && *last) {
    LogPoint end = committed_->point();
    if (VoidReservations(AtReserved::kVoidAll, &end).ok()) {
      static_cast<void>(MarkEnd(std::move(end)).ok());
      WriteLockOwner(member_->lock(), 0);
    }
  }
  LeaveLocks();
}

Status SharedLog::MarkEnd(LogPoint end) {
  MembersPage& page = member_->page();
  static_cast<void>(member_->directory().Remove(page.NextSpareName()).ok());
  if (page.Load(PageWord::kLatched) != 0) return LatchedError();
  if (!end.after_marker) {
    // Everything must be synced before the marker states it.
    ReachJob sync(member_, committed_->point(), end.seq, Level::kSync, options_.stall_ms);
    sync.RunOnce();
    DURLOG_RETURN_IF_ERROR(sync.status());
    if (page.Load(PageWord::kSyncedEnd) < end.seq) return LatchedError();
    if (end.offset + kFrameHeaderBytes <= end.segment->bytes()) {
      uint8_t marker[kFrameHeaderBytes];
      EncodeMarker(end.seq, end.segment->crc_seed(), marker);
      for (const uint64_t at : {8u, 16u, 0u}) {
        end.segment->WordAt(end.offset + at).store(Load64(marker + at), std::memory_order_release);
      }
      AtStep(Step::kMarked);
      DURLOG_RETURN_IF_ERROR(
          end.segment->mapping().Sync(0, static_cast<size_t>(end.offset) + kFrameHeaderBytes));
    }
  }
  member_->live().RaiseMemoryEnd(end.seq);
  return Status::Ok();
}

}  // namespace durlog
