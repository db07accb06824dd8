// What a member asks of the others, and what becomes of its jobs.
#include "shared/shared_log.h"

#include <algorithm>
#include <string>
#include <utility>

#include "recovery/log_files.h"

namespace durlog {
namespace {

bool IsOut(const std::shared_ptr<ReachJob>& job) { return job != nullptr; }

}  // namespace

void SharedLog::Attach(Executor* executor, LogListener* listener) {
  executor_ = executor;
  listener_ = listener;
}

Status SharedLog::LatchedError() const {
  return Status::Error(Code::kLatched,
                       "an earlier sync or store failed, by this writer or another one: close the "
                       "log and open it again");
}

// Called by everything that changes what is reached, and never by Pump(): see Pump().
void SharedLog::Refresh() {
  if (!latched_) {
    Status advanced = committed_->Advance();
    if (!advanced.ok()) NoteFailure(std::move(advanced));
  }
  RaiseReached();
}

void SharedLog::RaiseReached() {
  MembersPage& page = member_->page();
  const auto raise = [this](Level level, uint64_t end) {
    uint64_t& reached = reached_[static_cast<size_t>(level)];
    reached = std::max(reached, end);
  };
  const uint64_t synced = page.Load(PageWord::kSyncedEnd);
  raise(Level::kMemory, std::max(latched_ ? 0 : committed_->point().seq, synced));
  raise(Level::kAsync, page.Load(PageWord::kAsyncEnd));
  raise(Level::kSync, synced);
  raise(Level::kFull, page.Load(PageWord::kFullEnd));
  // Another member may have synced for this one.
  if (!WantsSync()) pending_bytes_ = syncing_bytes_ = next_syncing_bytes_ = 0;
}

bool SharedLog::WantsSync() const {
  return Wants(Level::kAsync) || Wants(Level::kSync) || Wants(Level::kFull);
}

void SharedLog::Look() {
  FrameStep stop;
  if (!latched_ && CatchUp(&stop).ok()) Refresh();
}

void SharedLog::RequestSync(Level level) {
  if (latched_) return;
  uint64_t& wanted = wanted_[static_cast<size_t>(level)];
  wanted = std::max(wanted, append_.seq);
}

Status SharedLog::Sync(Level level) {
  if (latched_) return LatchedError();
  return AwaitHere(append_.seq, level);
}

std::shared_ptr<ReachJob> SharedLog::MakeReach(uint64_t end, Level level) {
  return std::make_shared<ReachJob>(member_, committed_->point(), end, level, options_.stall_ms);
}

void SharedLog::FinishReach(std::shared_ptr<ReachJob>* job, StallRow* row) {
  const std::shared_ptr<ReachJob> done = std::exchange(*job, nullptr);
  committed_->MoveTo(done->point());
  if (done->level() != Level::kMemory) {
    syncing_bytes_ = std::exchange(next_syncing_bytes_, 0);
    ++stats_.commits;
    ++stretch_.syncs;
  }
  if (!done->status().ok()) NoteFailure(done->status());
  if (done->follows()) return;
  NoteStall(done->stall(), row);
  if (latched_ || !closing_ || closed_unsynced_ || !row->lasts()) return;
  closed_unsynced_ = true;
  listener_->OnClosedUnsynced(StallError(*done->stall()));
}

void SharedLog::NoteStall(const std::optional<Stall>& stall, StallRow* row) {
  row->Note(stall);
  if (!stall || latched_) return;
  listener_->OnStalled(stall->pid, stall->seq, row->lasts());
}

// What was wanted and is not known to be reached is waited for by a job, also where it has been
// reached meanwhile: the caller learns of it by the job's end.
void SharedLog::Pump() {
  clock_credit_ = 0;
  if (latched_ || closed_unsynced_) return;
  member_->live().Ring();
  if (!IsOut(memory_job_) && Wants(Level::kMemory)) {
    memory_job_ = MakeReach(wanted_[static_cast<size_t>(Level::kMemory)], Level::kMemory);
    executor_->Execute(memory_job_);
  }
  if (!WantsSync()) return;
  if (!IsOut(sync_job_)) {
    syncing_bytes_ = std::exchange(pending_bytes_, 0);
    sync_job_ = MakeSync();
    executor_->Execute(sync_job_);
  } else if (!IsOut(next_sync_job_) && pending_bytes_ >= options_.eager_sync_bytes) {
    next_syncing_bytes_ = std::exchange(pending_bytes_, 0);
    next_sync_job_ = MakeSync();
    next_sync_job_->Follow();
    executor_->Execute(next_sync_job_);
  }
}

std::shared_ptr<ReachJob> SharedLog::MakeSync() {
  const auto wanted = [this](Level level) { return wanted_[static_cast<size_t>(level)]; };
  if (Wants(Level::kFull)) return MakeReach(wanted(Level::kFull), Level::kFull);
  if (!Wants(Level::kSync)) return MakeReach(wanted(Level::kAsync), Level::kAsync);
  return MakeReach(std::max(wanted(Level::kSync), wanted(Level::kAsync)), Level::kSync);
}

// A large group does not wait for the end of its turn, nor its sync for the event loop: while the
// device takes one group the next one is framed, and is synced as soon as the device is free.
void SharedLog::SyncEagerly() {
  if (pending_bytes_ < options_.eager_sync_bytes) return;
  if (IsOut(next_sync_job_) && !sync_job_->done()) return;
  Harvest();
  Pump();
}

// What the others have done is looked at only where a job has ended: its end is what tells the
// caller to settle, and a level that is found to be reached without one would be told to nobody.
void SharedLog::Harvest() {
  const bool memory = IsOut(memory_job_) && memory_job_->done();
  const bool sync = IsOut(sync_job_) && sync_job_->done();
  if (memory) FinishReach(&memory_job_, &memory_stalls_);
  while (IsOut(sync_job_) && sync_job_->done()) {
    FinishReach(&sync_job_, &sync_stalls_);
    sync_job_ = std::move(next_sync_job_);
  }
  NoteRoom();
  if (populate_job_ && populate_job_->done()) populate_job_.reset();
  if (memory || sync) Refresh();
  NoteLatchOfOthers();
}

// Of a job that has waited for the next segment's file.
void SharedLog::NoteRoom() {
  if (!spare_job_ || !spare_job_->done() || !spare_job_->waits()) return;
  const std::optional<int64_t> pid = spare_job_->TakeStalledPid();
  if (pid) NoteStall(Stall{*pid, append_.seq}, &room_stalls_);
}

void SharedLog::NoteLatchOfOthers() {
  if (latched_ || member_->page().Load(PageWord::kLatched) == 0) return;
  Latch(Status::Error(Code::kSyncFailed, "a sync by another writer of the log failed"));
}

void SharedLog::PrepareClose() {
  closing_ = true;
  uint64_t& wanted = wanted_[static_cast<size_t>(Level::kSync)];
  wanted = std::max(wanted, own_end_);
}

bool SharedLog::idle() const {
  if (IsOut(memory_job_) || IsOut(sync_job_)) return false;
  if (latched_ || closed_unsynced_) return true;
  for (size_t level = 0; level < wanted_.size(); ++level) {
    if (wanted_[level] > reached_[level]) return false;
  }
  return true;
}

std::shared_ptr<SharedTrimJob> SharedLog::BeginTrim(uint64_t seq) {
  auto job = std::make_shared<SharedTrimJob>(member_, committed_->point(), seq, options_.stall_ms);
  trims_.Add(job);
  return job;
}

// For want of a descriptor or of memory nothing was done, and it is tried again.
void SharedLog::NoteFailure(Status status) {
  if (status.code() == Code::kTooManyFiles || status.code() == Code::kOutOfMemory) return;
  Latch(std::move(status));
}

// What this member has reserved and cannot finish is left to the others, who see it as dead.
void SharedLog::Latch(Status status) {
  if (latched_) return;
  latched_ = true;
  failure_ = AsSyncFailure(std::move(status));
  member_->LeaveSlot();
  if (listener_ != nullptr) listener_->OnFailure(failure_, 0, append_.seq, true);
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
  const Result<LogFiles> files = ListLogFiles(member_->directory());
  stats.segments = files.ok() ? files->segments.size() : 0;
  return stats;
}

}  // namespace durlog
