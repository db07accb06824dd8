// The requests of a member to its jobs, and their results.
#include "shared/shared_log.h"

#include <algorithm>
#include <utility>

#include "record/segment_name.h"
#include "recovery/shared_session.h"

namespace durlog {
void SharedLog::Attach(Executor* executor, LogListener* listener) {
  executor_ = executor;
  listener_ = listener;
}

Status SharedLog::LatchedError() const { return LatchedBy(failure_); }

// Called after every step that may raise the reached ends, but never by Pump(): see Pump().
void SharedLog::Refresh() {
  if (!latched_) {
    Status advanced = committed_->Advance();
    if (!advanced.ok()) NoteFailure(std::move(advanced));
  }
  RaiseReached();
}

void SharedLog::RaiseReached() {
  MembersPage& page = member_->page();
  if (!latched_) acks_.Reach(Level::kMemory, committed_->point().seq);
  acks_.Reach(Level::kAsync, page.Load(PageWord::kAsyncEnd));
  acks_.Reach(Level::kSync, page.Load(PageWord::kSyncedEnd));
  acks_.Reach(Level::kFull, page.Load(PageWord::kFullEnd));
  // Another member may have synced this member's records too.
  if (!WantsSync()) pending_bytes_ = syncing_bytes_ = next_syncing_bytes_ = 0;
}

bool SharedLog::WantsSync() const {
  return acks_.DueLevel().value_or(Level::kMemory) > Level::kMemory;
}

void SharedLog::Look() {
  if (!latched_ && CatchUp().ok()) Refresh();
}

void SharedLog::RequestSync(Level level) {
  if (latched_) return;
  acks_.Want(level, next_seq());
}

Status SharedLog::Sync(Level level) {
  DURLOG_RETURN_IF_ERROR(CatchUp());
  return AwaitHere(next_seq(), level);
}

std::shared_ptr<ReachJob> SharedLog::MakeReach(uint64_t end, Level level) {
  return std::make_shared<ReachJob>(member_, committed_->point(), end, level, options_.stall_ms);
}

void SharedLog::FinishReach(std::shared_ptr<ReachJob>* job, StallStreak* streak) {
  const std::shared_ptr<ReachJob> done = std::exchange(*job, nullptr);
  committed_->MoveTo(done->point());
  if (done->level() != Level::kMemory) {
    syncing_bytes_ = std::exchange(next_syncing_bytes_, 0);
    ++stats_.commits;
    ++stretch_.syncs;
    if (done->sync_micros() > 0) eager_size_.NoteCommit(done->sync_micros());
  }
  if (!done->status().ok()) NoteUnreached(done->status());
  if (done->follows()) return;
  NoteStall(done->stall(), streak);
  if (latched_ || !closing_ || closed_unsynced_ || !streak->lasts()) return;
  closed_unsynced_ = true;
  listener_->OnClosedUnsynced(StallError(*done->stall()));
}

void SharedLog::NoteStall(const std::optional<Stall>& stall, StallStreak* streak) {
  streak->Note(stall);
  if (!stall || latched_) return;
  listener_->OnStalled(stall->pid, stall->seq, streak->lasts());
}

// Starts a job for every end that is wanted and not known to be reached, even if it has been
// reached in the meantime: the end of the job notifies the caller.
void SharedLog::Pump() {
  clock_.Refresh();
  // The appends that waited for the spare have been tried again since the last Harvest().
  if (std::exchange(spare_failure_seen_, false)) spare_job_.reset();
  if (latched_ || closed_unsynced_) return;
  member_->live().Ring();
  CheckFiles();
  if (latched_) return;
  if (!memory_job_ && acks_.IsDue(Level::kMemory)) {
    memory_job_ = MakeReach(acks_.WantedEnd(Level::kMemory), Level::kMemory);
    executor_->Execute(memory_job_);
  }
  if (!WantsSync()) return;
  if (!sync_job_) {
    syncing_bytes_ = std::exchange(pending_bytes_, 0);
    sync_job_ = MakeSync();
    executor_->Execute(sync_job_);
  } else if (!next_sync_job_ && pending_bytes_ >= eager_size_.bytes()) {
    next_syncing_bytes_ = std::exchange(pending_bytes_, 0);
    next_sync_job_ = MakeSync();
    next_sync_job_->Follow();
    executor_->Execute(next_sync_job_);
  }
}

std::shared_ptr<ReachJob> SharedLog::MakeSync() {
  if (acks_.IsDue(Level::kFull)) return MakeReach(acks_.WantedEnd(Level::kFull), Level::kFull);
  const uint64_t async_end = acks_.WantedEnd(Level::kAsync);
  if (!acks_.IsDue(Level::kSync)) return MakeReach(async_end, Level::kAsync);
  return MakeReach(std::max(acks_.WantedEnd(Level::kSync), async_end), Level::kSync);
}

// Syncs a large group before the end of its turn: while the device writes one group, the next group
// is framed, and its sync begins as soon as the device is free.
void SharedLog::SyncEagerly() {
  if (pending_bytes_ < eager_size_.bytes()) return;
  if (next_sync_job_ && !sync_job_->done()) return;
  Harvest();
  Pump();
}

// Reads the progress of the other members only after a job has ended: the caller settles promises
// only then.
void SharedLog::Harvest() {
  const bool memory = memory_job_ && memory_job_->done();
  const bool sync = sync_job_ && sync_job_->done();
  if (memory) FinishReach(&memory_job_, &memory_stalls_);
  while (sync_job_ && sync_job_->done()) {
    FinishReach(&sync_job_, &sync_stalls_);
    sync_job_ = std::move(next_sync_job_);
  }
  NoteRoom();
  if (populate_job_ && populate_job_->done()) populate_job_.reset();
  if (memory || sync) Refresh();
  FinishFilesCheck();
  NoteLatchOfOthers();
}

void SharedLog::CheckFiles() {
  FinishFilesCheck();
  if (executor_ == nullptr || latched_ || closing_ || !files_.IsDue()) return;
  HeldFiles held;
  held.folder = IdOf(member_->directory().Id());
  held.names = {{kLockName, IdOf(member_->lock().Id())}, {kSharedName, IdOf(member_->page().Id())}};
  held.open = member_->HeldSegments();
  const LogPoint& point = append_->point();
  const uint64_t active = point.segment->first_seq();
  // A frame begins where the append point was at the last check.
  if (active == checked_segment_ && checked_offset_ < point.offset && !held.open.empty() &&
      held.open.back().first_seq == active) {
    held.open.back().frame_at = checked_offset_;
  }
  checked_segment_ = active;
  checked_offset_ = point.offset;
  // Without the segments that another member has trimmed.
  held.segments.assign(std::lower_bound(listed_.begin(), listed_.end(), first_seq()),
                       listed_.end());
  auto check =
      std::make_shared<FilesCheck>(member_->file_system(), member_->directory(), std::move(held));
  files_.Begin(check);
  executor_->Execute(std::move(check));
}

// What this member has found holds for the others too: none of them may acknowledge a record.
void SharedLog::FinishFilesCheck() {
  const std::shared_ptr<FilesCheck> check = files_.TakeDone();
  if (!check) return;
  if (check->status().ok()) {
    listed_ = check->TakeListed();
    return;
  }
  // The segment has been trimmed since the check began.
  if (latched_ || (check->changed_segment() && *check->changed_segment() < first_seq())) return;
  member_->page().Raise(PageWord::kLatched, 1);
  Latch(check->status());
}

// Handles the end of the job that made the next segment's file, or waited for it.
void SharedLog::NoteRoom() {
  if (!spare_job_ || !spare_job_->done()) return;
  spare_failure_seen_ = spare_job_->failed();
  if (!spare_job_->waits()) return;
  const std::optional<int64_t> pid = spare_job_->TakeStalledPid();
  if (pid) NoteStall(Stall{*pid, next_seq()}, &room_stalls_);
}

void SharedLog::NoteLatchOfOthers() {
  if (latched_ || member_->page().Load(PageWord::kLatched) == 0) return;
  Latch(Status::Error(Code::kSyncFailed, "a sync by another writer of the log failed"));
}

void SharedLog::PrepareClose() {
  closing_ = true;
  acks_.Want(Level::kSync, own_end_);
}

bool SharedLog::idle() const {
  if (memory_job_ || sync_job_) return false;
  if (latched_ || closed_unsynced_) return true;
  return !acks_.DueLevel();
}

std::shared_ptr<SharedTrimJob> SharedLog::BeginTrim(uint64_t seq) {
  auto job = std::make_shared<SharedTrimJob>(member_, committed_->point(), seq, options_.stall_ms);
  trims_.Add(job);
  return job;
}

Status SharedLog::FinishTrim(const SharedTrimJob& trim) {
  if (trim.stall()) listener_->OnStalled(trim.stall()->pid, trim.stall()->seq, false);
  return trim.status();
}

// Without descriptors or memory, a call fails and can be repeated.
void SharedLog::NoteFailure(Status status) {
  if (!status.lacks_resources()) Latch(std::move(status));
}

// For the failure of a job. No job follows it before the next request: it would fail too, and would
// sync the same records again.
void SharedLog::NoteUnreached(Status status) {
  if (!status.lacks_resources()) return Latch(std::move(status));
  acks_.Forgo();
  status = std::move(status).WithStored();
  if (closing_) {
    closed_unsynced_ = true;
    listener_->OnClosedUnsynced(status);
  }
  listener_->OnFailure(status, 0, next_seq(), false);
}

// Leaves the slot, so that the other members treat this member as dead and replace the reservations
// that it cannot finish with voids.
void SharedLog::Latch(Status status) {
  if (latched_) return;
  latched_ = true;
  failure_ = AsSyncFailure(std::move(status));
  member_->LeaveSlot();
  if (listener_ != nullptr) listener_->OnFailure(failure_, 0, next_seq(), true);
}

LogStats SharedLog::Stats() const {
  LogStats stats = stats_;
  stats.strategy = options_.strategy;
  stats.mode = WriteMode::kMmap;
  stats.preallocated =
      options_.preallocation_auto ? Preallocation::kFallocate : options_.preallocation;
  stats.file_system = capabilities_.file_system;
  stats.reason = "several writers store into one map";
  stats.segment_bytes = options_.segment_bytes;
  return stats;
}

}  // namespace durlog
