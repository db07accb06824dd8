#include "shared/shared_commits.h"

#include <algorithm>
#include <utility>

#include "write/log_writer.h"

namespace durlog {

SharedCommits::SharedCommits(std::shared_ptr<Member> member, const LogOptions& options,
                             const SharedAppendPoint& point, LogState& state)
    : member_(std::move(member)),
      options_(options),
      point_(point),
      state_(state),
      eager_size_(options.eager_bytes) {}

void SharedCommits::Start(const LogPoint& point) {
  committed_.emplace(*member_, AtReserved::kStop, point);
  Refresh();
}

void SharedCommits::Stop() {
  for (const std::shared_ptr<ReachJob>& job : {memory_job_, sync_job_, next_sync_job_}) {
    if (!job) continue;
    job->Cancel();
    job->Await();
  }
}

void SharedCommits::Refresh() {
  if (!state_.latched()) {
    Status advanced = committed_->Advance();
    // Without descriptors or memory, the call can be repeated.
    if (!advanced.ok() && !advanced.lacks_resources()) Latch(std::move(advanced));
  }
  RaiseReached();
}

void SharedCommits::RaiseMemory() {
  if (!state_.latched()) acks_.Reach(Level::kMemory, committed().seq);
}

void SharedCommits::RaiseReached() {
  MembersPage& page = member_->page();
  RaiseMemory();
  acks_.Reach(Level::kAsync, page.Load(PageWord::kAsyncEnd));
  acks_.Reach(Level::kSync, page.Load(PageWord::kSyncedEnd));
  acks_.Reach(Level::kFull, page.Load(PageWord::kFullEnd));
  // Another member may have synced this member's records too.
  if (!WantsSync()) pending_bytes_ = syncing_bytes_ = next_syncing_bytes_ = 0;
}

// A failure of the walk is reported by the job that waits for the record, because the caller has no
// promise yet that could be rejected.
void SharedCommits::NoteAppended(const Place& place, Level level) {
  const LogPoint& end = point_.at();
  if (committed_->IsAt(*end.segment, place.offset)) {
    committed_->Pass(place.step);
    member_->live().RaiseMemoryEnd(member_->slot(), end.seq);
  } else {
    static_cast<void>(committed_->Advance());
  }
  RaiseMemory();
  acks_.Want(level, end.seq);
  own_end_ = end.seq;
  if (level > Level::kMemory) pending_bytes_ += place.step.bytes;
}

void SharedCommits::BeginClose() { acks_.Want(Level::kSync, own_end_); }

bool SharedCommits::idle() const {
  if (memory_job_ || sync_job_) return false;
  if (state_.latched() || closed_unsynced_) return true;
  return !acks_.DueLevel();
}

std::shared_ptr<ReachJob> SharedCommits::MakeReach(uint64_t end, Level level) {
  return std::make_shared<ReachJob>(member_, committed(), end, level, options_.stall_ms);
}

std::shared_ptr<ReachJob> SharedCommits::MakeSync() {
  if (acks_.IsDue(Level::kFull)) return MakeReach(acks_.WantedEnd(Level::kFull), Level::kFull);
  const uint64_t async_end = acks_.WantedEnd(Level::kAsync);
  if (!acks_.IsDue(Level::kSync)) return MakeReach(async_end, Level::kAsync);
  return MakeReach(std::max(acks_.WantedEnd(Level::kSync), async_end), Level::kSync);
}

void SharedCommits::Pump() {
  if (state_.latched() || closed_unsynced_) return;
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

void SharedCommits::Harvest() {
  const bool memory = memory_job_ && memory_job_->done();
  const bool sync = sync_job_ && sync_job_->done();
  if (memory) FinishReach(&memory_job_, &memory_stalls_);
  while (sync_job_ && sync_job_->done()) {
    FinishReach(&sync_job_, &sync_stalls_);
    sync_job_ = std::move(next_sync_job_);
  }
  if (memory || sync) Refresh();
}

void SharedCommits::FinishReach(std::shared_ptr<ReachJob>* job, StallStreak* streak) {
  const std::shared_ptr<ReachJob> done = std::exchange(*job, nullptr);
  committed_->MoveTo(done->point());
  if (done->level() != Level::kMemory) {
    syncing_bytes_ = std::exchange(next_syncing_bytes_, 0);
    ++count_;
    if (done->sync_micros() > 0) eager_size_.NoteCommit(done->sync_micros());
  }
  if (!done->status().ok()) NoteUnreached(done->status());
  if (done->follows()) return;
  NoteStall(done->stall(), streak);
  if (state_.latched() || !state_.closing() || closed_unsynced_ || !streak->lasts()) return;
  closed_unsynced_ = true;
  listener_->OnClosedUnsynced(StallError(*done->stall()));
}

void SharedCommits::NoteStall(const std::optional<Stall>& stall, StallStreak* streak) {
  streak->Note(stall);
  if (!stall || state_.latched()) return;
  listener_->OnStalled(stall->pid, stall->seq, streak->lasts());
}

// For the failure of a job. No job follows it before the next request: it would fail too, and would
// sync the same records again.
void SharedCommits::NoteUnreached(Status status) {
  if (!status.lacks_resources()) return Latch(std::move(status));
  acks_.Forgo();
  status = std::move(status).WithStored();
  if (state_.closing()) {
    closed_unsynced_ = true;
    listener_->OnClosedUnsynced(status);
  }
  listener_->OnFailure(status, 0, point_.at().seq, false);
}

Status SharedCommits::AwaitLevel(uint64_t end, Level level) {
  while (ReachedEnd(level) < end) {
    ReachJob job(member_, committed(), end, level, options_.stall_ms);
    job.RunOnce();
    committed_->MoveTo(job.point());
    if (!job.status().ok() && !job.status().lacks_resources()) Latch(job.status());
    Refresh();
    // Once another member has latched the log, no member syncs.
    static_cast<void>(CheckLatch());
    // The record is stored, but it is not known whether it will remain.
    if (state_.latched()) return state_.failure();
    if (!job.status().ok()) return job.status();
    if (job.stall()) return StallError(*job.stall());
  }
  return Status::Ok();
}

Status SharedCommits::Fail(Status failure) {
  if (!point_.broken()) return failure;
  Latch(std::move(failure));
  return state_.LatchedError();
}

Status SharedCommits::LatchAsOthers() {
  Latch(Status::Error(Code::kSyncFailed, "a sync by another writer of the log failed"));
  return state_.LatchedError();
}

void SharedCommits::Latch(Status status) {
  if (state_.latched()) return;
  const Status failure = AsSyncFailure(std::move(status));
  state_.Latch(failure);
  member_->LeaveSlot();
  if (listener_ != nullptr) listener_->OnFailure(failure, 0, point_.at().seq, true);
}

}  // namespace durlog
