// Group commit: everything appended while one commit runs forms the next.
#include <algorithm>
#include <utility>

#include "log/log.h"
#include "read/position_index.h"

namespace durlog {
namespace {

// Buffers that are kept between commits; larger ones go back to the allocator.
constexpr size_t kMaxKeptBuffers = 2;
constexpr size_t kMaxKeptBufferBytes = 8u << 20;

// A commit that begins within a turn pays where the turn frames more while it runs: not where a
// sync takes so long that two of them cost more than what they overlap.
constexpr uint64_t kFramedBytesPerMicro = 512;

}  // namespace

bool Log::CommitWanted() const {
  if (latched_) return false;
  return marking_end_ || !filling_.empty() || acks_.DueLevel() || (closing_ && !end_marked_);
}

Level Log::WantedLevel() const {
  return acks_.DueLevel().value_or(marking_end_ ? Level::kSync : Level::kMemory);
}

void Log::Pump() {
  clock_credit_ = 0;
  live_.Ring();  // for what has been stored into a map since
  if (commit_ || latched_ || exclusive_) return;
  // The marker comes last of all: it may only say "synced" of what is.
  if (closing_ && !end_marked_ && !marking_end_ && acks_.synced_end() == next_seq_) {
    marking_end_ = true;
    Status marked = AppendMarker();
    if (!marked.ok()) {
      // Without it the next open reads a little more. Nothing is lost.
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
  // A spare that failed before anybody needed it is simply asked for again when somebody does.
  if (spare_ && !rotation_waits_ && spare_->done() && !spare_->spare().ok()) spare_.reset();
}

// Not while pages ahead are being dirtied by a worker.
bool Log::ShouldLeaveMap(const CommitPlan& plan) const {
  return options_.strategy == Strategy::kAuto && mode_ == WriteMode::kMapped &&
         plan.level >= Level::kSync && plan.end_seq > plan.first_seq && policy_.WantsDirect() &&
         capabilities_.direct_io && tail_ && !tail_->populating() && !closing_;
}

void Log::AddTargets(CommitPlan* plan, bool leave_map) {
  for (const DirtyRange& range : dirty_) {
    SyncTarget target;
    target.segment = range.segment;
    target.begin = range.begin;
    target.end = range.end;
    // Only the range, as the pages populated ahead are dirty too. All of it before direct writes
    // begin: a page of zeros written back later would land on their records.
    if (!leave_map && tail_ && range.segment == active_) {
      target.chunks = tail_->Covering(range.begin, range.end);
    }
    plan->targets.push_back(std::move(target));
  }
  if (plan->level < Level::kSync) return;
  // Once full, a segment is fsynced, so that `full` need not go through all of them.
  for (const std::shared_ptr<Segment>& segment : sealed_) AddFullTarget(segment, plan);
  if (plan->level < Level::kFull) return;
  for (const StagedPiece& piece : plan->pieces) AddFullTarget(piece.segment, plan);
  if (active_->active()) AddFullTarget(active_, plan);
}

void Log::AddFullTarget(const std::shared_ptr<Segment>& segment, CommitPlan* plan) {
  const auto same = [&segment](const SyncTarget& target) { return target.segment == segment; };
  const auto found = std::find_if(plan->targets.begin(), plan->targets.end(), same);
  if (found != plan->targets.end()) {
    found->full = true;
    return;
  }
  SyncTarget target;
  target.segment = segment;
  target.full = true;
  plan->targets.push_back(std::move(target));
}

CommitPlan Log::MakePlan(Level level) {
  CommitPlan plan;
  plan.mode = mode_;
  // A direct write is durable whether asked to be or not.
  plan.level = mode_ == WriteMode::kDirect ? std::max(level, Level::kSync) : level;
  plan.direct_alignment = capabilities_.direct_alignment;
  plan.zero_ahead = options_.preallocation_auto && capabilities_.overwrites_in_place &&
                    plan.level >= Level::kSync;
  plan.first_seq = committed_end_;
  plan.end_seq = next_seq_;
  plan.frame_bytes = filling_bytes_;
  for (StagedPiece& piece : filling_) plan.pieces.push_back(std::move(piece));
  filling_.clear();
  filling_bytes_ = 0;
  committed_end_ = next_seq_;
  plan.resume_segment = std::exchange(group_segment_, active_);
  plan.resume_offset = std::exchange(group_offset_, append_offset_);
  plan.resume_last_time_ms = std::exchange(group_last_time_ms_, last_time_ms_);
  if (!plan.pieces.empty()) {
    const StagedPiece& last = plan.pieces.back();
    if (mode_ == WriteMode::kDirect) {
      KeepTailImage(last);
    } else {
      for (const StagedPiece& piece : plan.pieces) {
        if (dirty_.empty() || dirty_.back().segment != piece.segment) {
          dirty_.push_back(DirtyRange{piece.segment, piece.begin, piece.end});
        }
        dirty_.back().end = piece.end;
      }
    }
  }
  if (plan.end_seq > plan.first_seq) policy_.NoteCommit(level);
  const bool leave_map = ShouldLeaveMap(plan);
  if (plan.level >= Level::kAsync) AddTargets(&plan, leave_map);
  if (leave_map) {
    plan.retired_tail = std::move(tail_);
    mode_ = WriteMode::kDirect;
    tail_image_ = TailImage{};
    ++stats_.mode_switches;
  }
  return plan;
}

std::shared_ptr<CommitJob> Log::BeginCommit(Level level) {
  commit_ = std::make_shared<CommitJob>(file_system_, *directory_, MakePlan(level));
  return commit_;
}

// The bytes of the last, partly filled block, which the next direct write writes again.
void Log::KeepTailImage(const StagedPiece& piece) {
  const uint64_t block = AlignDown(piece.end, capabilities_.direct_alignment);
  tail_image_.segment = piece.segment.get();
  tail_image_.offset = block;
  const uint8_t* const from = piece.buffer.data() + (block - piece.buffer_offset);
  tail_image_.bytes.assign(from, from + (piece.end - block));
}

void Log::FinishCommit() {
  const std::shared_ptr<CommitJob> job = std::move(commit_);
  commit_.reset();
  job->Await();
  // The lesser of two, as a single slow one says nothing.
  const uint64_t micros =
      std::min(job->micros(), std::exchange(last_commit_micros_, job->micros()));
  eager_commit_bytes_ = std::max(kMinEagerCommitBytes, micros * kFramedBytesPerMicro);
  Finish(*job);
}

void Log::Finish(CommitJob& job) {
  CommitPlan& plan = job.plan();
  pending_bytes_ -= plan.frame_bytes;
  switch (job.outcome()) {
    case CommitOutcome::kDone:
      FinishDone(job);
      break;
    case CommitOutcome::kRolledBack:
      FinishRolledBack(job);
      break;
    case CommitOutcome::kFailed:
      // What was stored or written meanwhile is in the log, acknowledged or not.
      Latch(job.status(), 0, mode_ == WriteMode::kMapped ? next_seq_ : committed_end_);
      break;
  }
  for (StagedPiece& piece : plan.pieces) GiveBuffer(std::move(piece.buffer));
  job.Release();
}

void Log::FinishDone(CommitJob& job) {
  const CommitPlan& plan = job.plan();
  for (const std::shared_ptr<Segment>& segment : job.TakeActivated()) NoteActivated(*segment);
  acks_.Reach(plan.level, plan.end_seq);
  PublishEnds();
  ++stats_.commits;
  stats_.committed_records += plan.end_seq - plan.first_seq;
  stats_.committed_bytes += plan.frame_bytes;
  if (marking_end_) {
    marking_end_ = false;
    end_marked_ = true;
  }
  if (plan.level < Level::kSync) return;
  for (const SyncTarget& target : plan.targets) {
    if (target.full) {
      sealed_.erase(std::remove(sealed_.begin(), sealed_.end(), target.segment), sealed_.end());
    }
    const auto range = std::find_if(
        dirty_.begin(), dirty_.end(),
        [&target](const DirtyRange& dirty) { return dirty.segment == target.segment; });
    if (range == dirty_.end()) continue;
    if (range->end <= target.end) {
      dirty_.erase(range);
    } else {
      range->begin = std::max(range->begin, target.end);
    }
  }
}

void Log::NoteActivated(const Segment& segment) {
  // One that holds no record yet is replaced by its successor.
  if (segments_.back() != segment.first_seq()) segments_.push_back(segment.first_seq());
  ++stats_.rotations;
  stats_.preallocated = segment.preallocated();
  listener_->OnRotated(segment.first_seq());
}

// Nothing of the group is in the log, so nothing that was appended after it may be either.
void Log::FinishRolledBack(CommitJob& job) {
  const CommitPlan& plan = job.plan();
  for (StagedPiece& piece : filling_) {
    piece.segment->Discard(*directory_);
    GiveBuffer(std::move(piece.buffer));
  }
  filling_.clear();
  pending_bytes_ -= filling_bytes_;
  filling_bytes_ = 0;
  marking_end_ = false;
  if (closing_) end_marked_ = true;
  next_seq_ = committed_end_ = plan.first_seq;
  live_.Cut(next_seq_);
  acks_.Withdraw(next_seq_);
  for (const StagedPiece& piece : plan.pieces) {
    dirty_.erase(std::remove_if(dirty_.begin(), dirty_.end(),
                                [&](const DirtyRange& dirty) {
                                  return dirty.segment == piece.segment &&
                                         dirty.begin >= piece.begin;
                                }),
                 dirty_.end());
  }
  ResumeAt(plan.resume_segment, plan.resume_offset, plan.resume_last_time_ms);
  PositionIndex::Shared().ForgetBehind(active_->header().salt, next_seq_);
  failure_ = job.status();
  failed_from_ = plan.first_seq;
  ++rollbacks_;
  listener_->OnFailure(failure_, plan.first_seq, plan.first_seq, false);
}

void Log::RunCommitHere() {
  if (commit_) {
    commit_->Await();
  } else {
    BeginCommit(WantedLevel())->RunOnce();
  }
  FinishCommit();
}

// Brings what is staged into the page cache, in front of nothing but the writes of the commit that
// is out: its syncs may take as long as they like. A commit of its own, so that what is refused for
// want of room takes back nothing that was acknowledged in memory.
void Log::WriteHere() {
  if (commit_) {
    // What it wrote stands in front of what is staged; if it was rolled back, so is that.
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
    if (level == Level::kMemory && mode_ == WriteMode::kBuffered) {
      WriteHere();
    } else {
      RunCommitHere();
    }
  }
  return Status::Ok();
}

void Log::Latch(Status status, uint64_t first_seq, uint64_t unknown_before) {
  if (latched_) return;
  latched_ = true;
  filling_.clear();
  filling_bytes_ = 0;
  failure_ = std::move(status);
  if (failure_.code() != Code::kSyncFailed) {
    const std::string cause = failure_.message();
    failure_ = Status(failure_)
                   .WithCode(Code::kSyncFailed)
                   .WithMessage("writing to the device failed (" + cause +
                                "): what was not acknowledged may or may not be there; close the "
                                "log and open it again");
  }
  listener_->OnFailure(failure_, first_seq, unknown_before, true);
}

AlignedBuffer Log::TakeBuffer() {
  if (buffers_.empty()) return AlignedBuffer();
  AlignedBuffer buffer = std::move(buffers_.back());
  buffers_.pop_back();
  return buffer;
}

void Log::GiveBuffer(AlignedBuffer buffer) {
  if (buffers_.size() < kMaxKeptBuffers && buffer.capacity() <= kMaxKeptBufferBytes) {
    buffers_.push_back(std::move(buffer));
  }
}

}  // namespace durlog
