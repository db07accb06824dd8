#include "log/commit_cycle.h"

#include <utility>

#include "write/log_writer.h"

namespace durlog {

CommitCycle::CommitCycle(FileSystem& file_system, Directory& directory, const LogOptions& options,
                         AppendPoint& point, SegmentChain& chain, LivePageWriter& live,
                         LogState& state, const std::optional<FileId>& lock)
    : file_system_(file_system),
      directory_(directory),
      point_(point),
      chain_(chain),
      live_(live),
      state_(state),
      lock_(lock),
      eager_size_(options.eager_bytes) {}

CommitCycle::~CommitCycle() {
  if (!commit_) return;
  commit_->Await();
  commit_->Release();
}

void CommitCycle::Attach(Executor* executor, LogListener* listener) {
  executor_ = executor;
  listener_ = listener;
}

void CommitCycle::Reset(bool end_stated) {
  acks_.Reset(point_.next_seq());
  end_ = end_stated ? End::kStated : End::kUnstated;
}

bool CommitCycle::CommitWanted() const {
  if (state_.latched()) return false;
  return end_ == End::kStating || point_.has_staged() || acks_.DueLevel() ||
         (state_.closing() && end_ == End::kUnstated);
}

Level CommitCycle::WantedLevel() const {
  return acks_.DueLevel().value_or(end_ == End::kStating ? Level::kSync : Level::kMemory);
}

void CommitCycle::Pump() {
  if (commit_ || state_.latched() || state_.exclusive()) return;
  // The statement comes last, because it may only be made about records that are synced.
  if (state_.closing() && end_ == End::kUnstated && acks_.synced_end() == point_.next_seq()) {
    end_ = End::kStating;
  }
  if (!CommitWanted()) return;
  executor_->Execute(Begin());
}

void CommitCycle::Harvest() {
  if (commit_ && commit_->done()) FinishRunning();
}

void CommitCycle::AwaitJob() {
  if (commit_) commit_->Await();
}

std::shared_ptr<CommitJob> CommitCycle::Begin() {
  CommitPlan plan = point_.PlanCommit(WantedLevel(), state_.closing());
  plan.lock = lock_;
  if (end_ == End::kStating) plan.ending = point_.segment();
  commit_ = std::make_shared<CommitJob>(file_system_, directory_, std::move(plan));
  return commit_;
}

void CommitCycle::FinishRunning() {
  const std::shared_ptr<CommitJob> job = std::move(commit_);
  commit_.reset();
  job->Await();
  eager_size_.NoteCommit(job->micros());
  Finish(*job);
}

void CommitCycle::Finish(CommitJob& job) {
  switch (job.outcome()) {
    case CommitOutcome::kDone: FinishDone(job); break;
    case CommitOutcome::kRolledBack: FinishRolledBack(job); break;
    case CommitOutcome::kFailed:
      // Records stored or written since then are in the log, acknowledged or not.
      static_cast<void>(Latch(job.status(), 0, point_.stored_end()));
      break;
  }
  point_.Settle(job.plan().group);
  job.Release();
}

void CommitCycle::FinishDone(CommitJob& job) {
  const CommitPlan& plan = job.plan();
  for (const std::shared_ptr<Segment>& segment : job.TakeActivated()) {
    chain_.NoteActivated(*segment);
  }
  // The appends of the commit were rejected when the log latched, so readers must not get their
  // records as synced ones. The sync may have succeeded only because another call has received the
  // report of the failure.
  if (state_.latched()) return;
  for (const StagedPiece& piece : plan.group.pieces) chain_.NoteEnd(*piece.segment, piece.end);
  acks_.Reach(plan.level, plan.group.end_seq);
  point_.NoteWritten(plan);
  PublishEnds();
  meter_.NoteDone(plan.group);
  // A commit into the page cache takes only a microsecond, so measuring it would slow it down.
  if (plan.group.has_records() && plan.level > Level::kMemory) {
    live_.NoteCommit(job.micros());
    meter_.Measure(plan.group, job.micros(), job.ended_micros());
  }
  if (end_ == End::kStating) end_ = End::kStated;
  if (plan.level >= Level::kSync) point_.NoteSynced(plan.targets);
  if (plan.GainsByZeros() && executor_ != nullptr) {
    chain_.ZeroSpare(*executor_, point_.segment()->bytes() - point_.offset(),
                     plan.group.frame_bytes);
  }
}

// No record of the group is in the log, so no record appended after it may be in it either.
void CommitCycle::FinishRolledBack(CommitJob& job) {
  if (state_.latched()) return;
  const StagedGroup& group = job.plan().group;
  const uint64_t next_seq = group.start.seq;
  live_.Cut(next_seq);
  acks_.Withdraw(next_seq);
  point_.RollBack(group);
  failure_ = job.status();
  failed_from_ = next_seq;
  ++rollbacks_;
  listener_->OnFailure(failure_, next_seq, next_seq, false);
}

void CommitCycle::RunHere() {
  if (commit_) {
    commit_->Await();
  } else {
    Begin()->RunOnce();
  }
  FinishRunning();
}

// Brings the staged records into the page cache. Waits for the writes of the running commit, but
// not for its syncs. This is a separate commit: if there is no room for it, no record that was
// acknowledged in memory is rolled back.
void CommitCycle::WriteHere() {
  if (commit_) {
    // Its records precede the staged ones: if they are rolled back, so are the staged ones.
    if (!commit_->AwaitWrites()) return FinishRunning();
    for (const std::shared_ptr<Segment>& segment : commit_->TakeActivated()) {
      chain_.NoteActivated(*segment);
    }
  }
  CommitJob job(file_system_, directory_, point_.PlanCommit(Level::kMemory, state_.closing()));
  job.RunOnce();
  Finish(job);
}

Status CommitCycle::CommitUntil(uint64_t end, Level level) {
  failed_from_ = UINT64_MAX;
  acks_.Want(level, end);
  while (acks_.ReachedEnd(level) < end) {
    if (state_.latched() || failed_from_ < end) return failure_;
    if (level == Level::kMemory && point_.mode() == WriteMode::kPwrite) {
      WriteHere();
    } else {
      RunHere();
    }
  }
  return Status::Ok();
}

Status CommitCycle::AwaitQuiet() {
  if (commit_) RunHere();
  if (state_.latched()) return failure_;
  return AwaitLevel(point_.next_seq(), Level::kSync);
}

Status CommitCycle::EnterMap() {
  if (commit_ && !point_.maps()) {
    commit_->Await();
    FinishRunning();
    if (state_.latched()) return failure_;
  }
  return point_.Map();
}

Status CommitCycle::FailStore(Status failure) {
  if (point_.has_leftover()) {
    // The running commit has maps of the segment until it ends.
    AwaitJob();
    point_.CutLeftover();
  }
  return point_.broken() ? LatchHere(std::move(failure)) : failure;
}

Status CommitCycle::Latch(Status status, uint64_t first_seq, uint64_t unknown_before) {
  if (state_.latched()) return failure_;
  failure_ = AsSyncFailure(std::move(status));
  state_.Latch(failure_);
  point_.Abandon();
  listener_->OnFailure(failure_, first_seq, unknown_before, true);
  return failure_;
}

void CommitCycle::PublishEnds() {
  if (state_.exclusive()) return;
  live_.StoreEnds(chain_.first_seq(), acks_.memory_end(), acks_.synced_end());
}

}  // namespace durlog
