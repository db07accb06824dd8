// Group commit: all records appended while one commit runs form the next one.
#include <algorithm>
#include <utility>

#include "log/log.h"
#include "read/position_index.h"

namespace durlog {

bool Log::CommitWanted() const {
  if (latched_) return false;
  return marking_end_ || !staging_.empty() || acks_.DueLevel() || (closing_ && !end_marked_);
}

Level Log::WantedLevel() const {
  return acks_.DueLevel().value_or(marking_end_ ? Level::kSync : Level::kMemory);
}

void Log::Pump() {
  clock_.Refresh();
  live_.Ring();  // for records stored into a map since the last Pump()
  if (commit_ || latched_ || exclusive_) return;
  // The marker comes last, because it may only mark records that are synced.
  if (closing_ && !end_marked_ && !marking_end_ && acks_.synced_end() == next_seq_) {
    marking_end_ = true;
    Status marked = AppendMarker();
    if (!marked.ok()) {
      // Without the marker the next open reads a little more. Nothing is lost.
      marking_end_ = false;
      end_marked_ = true;
    }
  }
  if (!CommitWanted()) return;
  std::shared_ptr<CommitJob> job = BeginCommit(WantedLevel());
  executor_->Execute(std::move(job));
}

void Log::Harvest() {
  if (commit_ && commit_->done()) FinishCommit();
  chain_.DropFailedSpare();
}

CommitPlan Log::MakePlan(Level level) {
  const bool direct = mode_ == WriteMode::kDirect;
  CommitPlan plan;
  plan.mode = mode_;
  // A direct write is durable at any level.
  plan.level = direct ? std::max(level, Level::kSync) : level;
  plan.direct_alignment = capabilities_.direct_alignment;
  plan.map_alignment = capabilities_.map_alignment;
  plan.zero_ahead = policy_.ZerosAhead(plan.level);
  plan.group = staging_.Take(AppendPoint(), direct);
  if (!direct) {
    for (const StagedPiece& piece : plan.group.pieces) {
      backlog_.MarkDirty(piece.segment, piece.begin, piece.end);
    }
  }
  if (plan.group.has_records()) policy_.NoteCommit(level);
  // The log stays in the map while a worker is dirtying the pages ahead.
  const bool leave_map = mode_ == WriteMode::kMmap && plan.level >= Level::kSync &&
                         plan.group.has_records() && policy_.LeavesMap() && tail_ &&
                         !tail_->populating() && !closing_;
  AddTargets(&plan, leave_map);
  if (leave_map) LeaveMap(&plan);
  return plan;
}

void Log::AddTargets(CommitPlan* plan, bool leave_map) {
  plan->targets = backlog_.TargetsFor(plan->level);
  // The whole file is synced before direct writes begin: a page of zeros that is written back later
  // would overwrite their records.
  for (SyncTarget& target : plan->targets) {
    target.range_only = tail_ && !leave_map && target.segment == active_;
    if (target.range_only) target.chunks = tail_->Covering(target.begin, target.end);
  }
  if (plan->level < Level::kFull) return;
  for (const StagedPiece& piece : plan->group.pieces) AddFullTarget(piece.segment, &plan->targets);
  if (active_->active()) AddFullTarget(active_, &plan->targets);
}

// Records are written directly from the next group on. The worker unmaps the file after its sync.
void Log::LeaveMap(CommitPlan* plan) {
  plan->retired_tail = std::move(tail_);
  mode_ = WriteMode::kDirect;
  staging_.ForgetLastBlock();
  ++stats_.mode_switches;
}

std::shared_ptr<CommitJob> Log::BeginCommit(Level level) {
  commit_ = std::make_shared<CommitJob>(file_system_, *directory_, MakePlan(level));
  return commit_;
}

void Log::FinishCommit() {
  const std::shared_ptr<CommitJob> job = std::move(commit_);
  commit_.reset();
  job->Await();
  eager_size_.NoteCommit(job->micros());
  Finish(*job);
}

void Log::Finish(CommitJob& job) {
  switch (job.outcome()) {
    case CommitOutcome::kDone:
      FinishDone(job);
      break;
    case CommitOutcome::kRolledBack:
      FinishRolledBack(job);
      break;
    case CommitOutcome::kFailed:
      // Records stored or written since then are in the log, acknowledged or not.
      Latch(job.status(), 0, mode_ == WriteMode::kMmap ? next_seq_ : staging_.first_seq());
      break;
  }
  staging_.Settle(job.plan().group);
  job.Release();
}

void Log::FinishDone(CommitJob& job) {
  const CommitPlan& plan = job.plan();
  for (const std::shared_ptr<Segment>& segment : job.TakeActivated()) NoteActivated(*segment);
  acks_.Reach(plan.level, plan.group.end_seq);
  PublishEnds();
  ++stats_.commits;
  stats_.committed_records += plan.group.end_seq - plan.group.start.seq;
  stats_.committed_bytes += plan.group.frame_bytes;
  // A commit into the page cache takes only a microsecond, so noting it would slow it down.
  if (plan.group.has_records() && plan.level > Level::kMemory) NoteCommit(job);
  if (marking_end_) {
    marking_end_ = false;
    end_marked_ = true;
  }
  if (plan.level >= Level::kSync) backlog_.Settle(plan.targets);
}

void Log::NoteCommit(CommitJob& job) {
  const StagedGroup& group = job.plan().group;
  last_commit_ended_micros_ = job.ended_micros();
  live_.NoteCommit(job.micros());
  commit_micros_.Record(job.micros(), last_commit_ended_micros_);
  commit_records_.Record(group.end_seq - group.start.seq, last_commit_ended_micros_);
}

// No record of the group is in the log, so no record appended after it may be in it either.
void Log::FinishRolledBack(CommitJob& job) {
  const StagedGroup& group = job.plan().group;
  staging_.Discard(*directory_);
  marking_end_ = false;
  if (closing_) end_marked_ = true;
  next_seq_ = group.start.seq;
  live_.Cut(next_seq_);
  acks_.Withdraw(next_seq_);
  for (const StagedPiece& piece : group.pieces) backlog_.Forget(piece.segment.get(), piece.begin);
  ResumeAt(group.start.segment, group.start.offset, group.start.last_time_ms);
  PositionIndex::Shared().ForgetBehind(active_->header().salt, next_seq_);
  failure_ = job.status();
  failed_from_ = next_seq_;
  ++rollbacks_;
  listener_->OnFailure(failure_, next_seq_, next_seq_, false);
}

void Log::RunCommitHere() {
  if (commit_) {
    commit_->Await();
  } else {
    BeginCommit(WantedLevel())->RunOnce();
  }
  FinishCommit();
}

// Brings the staged records into the page cache. Waits for the writes of the running commit, but
// not for its syncs. This is a separate commit: if there is no room for it, no record that was
// acknowledged in memory is rolled back.
void Log::WriteHere() {
  if (commit_) {
    // Its records precede the staged ones: if they are rolled back, so are the staged ones.
    if (!commit_->AwaitWrites()) return FinishCommit();
    for (const std::shared_ptr<Segment>& segment : commit_->TakeActivated()) {
      NoteActivated(*segment);
    }
  }
  CommitJob job(file_system_, *directory_, MakePlan(Level::kMemory));
  job.RunOnce();
  Finish(job);
}

Status Log::AwaitLevel(uint64_t seq, Level level) {
  if (ReachedEnd(level) > seq) return Status::Ok();
  failed_from_ = UINT64_MAX;
  acks_.Want(level, seq + 1);
  while (ReachedEnd(level) <= seq) {
    if (latched_ || failed_from_ <= seq) return failure_;
    if (level == Level::kMemory && mode_ == WriteMode::kPwrite) {
      WriteHere();
    } else {
      RunCommitHere();
    }
  }
  return Status::Ok();
}

Status Log::Sync(Level level) {
  if (latched_) return LatchedError();
  return next_seq_ == 0 ? Status::Ok() : AwaitLevel(next_seq_ - 1, level);
}

void Log::Latch(Status status, uint64_t first_seq, uint64_t unknown_before) {
  if (latched_) return;
  latched_ = true;
  staging_.Abandon();
  failure_ = AsSyncFailure(std::move(status));
  listener_->OnFailure(failure_, first_seq, unknown_before, true);
}

}  // namespace durlog
