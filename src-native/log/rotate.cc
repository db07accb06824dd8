// The segment at the append point: rotation to the next one, and the map of it.
#include <algorithm>
#include <utility>

#include "log/log.h"
#include "record/segment_name.h"

namespace durlog {

void Log::RequestSpare() {
  if (chain_.spare() != nullptr) return;
  // A log's first segment may stay its only one; the next one follows a stream of records.
  uint64_t first_chunk_bytes = 0;
  if (mode_ == WriteMode::kMmap) {
    first_chunk_bytes = tail_ ? tail_->lead_bytes() : ShapeOf(active_->header()).chunk_bytes();
  }
  executor_->Execute(chain_.RequestSpare(uuid_, record_ms_, first_chunk_bytes));
}

// One whose base time does not allow the time of the record at hand. One that was made for a record
// which is cut or rolled back by now may begin after the clock and after every record there is: the
// clock's records would get its time.
void Log::DropUnfitSpare() {
  const SpareJob* const spare = chain_.spare();
  if (spare == nullptr) return;
  const uint64_t base_ms = spare->header().base_time_ms;
  const uint64_t newest_ms = active_->header().base_time_ms + last_time_ms_;
  const bool ahead = base_ms > std::max(record_ms_, newest_ms);
  if (ahead || !TakesRecordTime(base_ms, 0)) chain_.DropSpare();
}

bool Log::TooMuchUnsynced() const {
  return backlog_.IsFull(options_.segment_bytes) ||
         staging_.segment_count() >= SyncBacklog::kMaxSegments;
}

// A segment that this thread needs now, while no commit has activated it.
Status Log::ActivateHere() {
  if (active_->active()) return Status::Ok();
  DURLOG_RETURN_IF_ERROR(active_->Activate(*directory_));
  NoteActivated(*active_);
  return Status::Ok();
}

void Log::NoteActivated(const Segment& segment) {
  chain_.Add(segment.first_seq());
  ++stats_.rotations;
  stats_.preallocated = segment.preallocated();
  listener_->OnRotated(segment.first_seq());
}

// Called where the next frame does not fit. A staged segment is only an idea until its commit
// activates it. Nothing has changed on failure.
Status Log::Rotate() {
  if (TooMuchUnsynced()) {
    const uint64_t rollbacks = rollbacks_;
    Harvest();
    if (latched_) return LatchedError();
    Pump();
    // After a rollback the append point is another one, and the append would be behind a lost one.
    if (TooMuchUnsynced() || rollbacks_ != rollbacks) {
      return Status::Error(Code::kBackpressure, std::to_string(backlog_.segment_count()) +
                                                    " segments wait for the device");
    }
  }
  // What failed before this append may succeed now.
  chain_.DropFailedSpare();
  DropUnfitSpare();
  RequestSpare();
  if (mode_ == WriteMode::kMmap) return RotateMapped();
  // A sealed segment is synced soon, whatever level was asked for. Its commit begins while it is
  // still the active one: a group that has to be rolled back resumes in a segment that exists.
  if (mode_ != WriteMode::kDirect && next_seq_ > 0) {
    acks_.Want(Level::kSync, next_seq_);
    Pump();
  }
  EnterSegment(std::make_shared<Segment>(next_seq_, chain_.TakeSpare(), TakeReplaced()));
  return Status::Ok();
}

// The active segment where it holds no record: the next one takes its name. Activating that one
// closes this one's file, which must not be mapped, and no commit may be syncing it.
std::shared_ptr<Segment> Log::TakeReplaced() {
  if (active_->first_seq() != next_seq_) return nullptr;
  if (commit_) commit_->Await();
  tail_.reset();
  // What a refused batch left there is cut, and there is no file to sync.
  backlog_.Forget(active_.get());
  return active_;
}

void Log::EnterSegment(std::shared_ptr<Segment> next) {
  if (active_->first_seq() != next_seq_) {
    backlog_.Seal(active_);
    NoteSealed();
  }
  active_ = std::move(next);
  append_offset_ = note_from_ = kSegmentHeaderBytes;
  last_time_ms_ = 0;
}

// For a retention that has asked before, and so asks again. A group that is rolled back may unseal
// the segment: then it is noted once more, before anything asks for its time.
void Log::NoteSealed() {
  if (!survey_) return;
  sealed_.push_back({active_->first_seq(), active_->header().base_time_ms + last_time_ms_});
}

// A mapped segment has to exist before the first store. Renaming comes before the sync of the
// sealed segment begins: the journal would let the one wait for the other.
Status Log::RotateMapped() {
  Status spare = chain_.CheckSpare();
  if (spare.code() == Code::kBackpressure) return spare;
  if (!spare.ok()) {
    return std::move(spare).WithPath(directory_->path() + "/" + SegmentName(next_seq_));
  }
  auto next = std::make_shared<Segment>(next_seq_, chain_.TakeSpare(), TakeReplaced());
  Status activated = next->Activate(*directory_);
  if (!activated.ok()) {
    next->Discard(*directory_);
    // For any other reason the file may have its new name on the device.
    if (activated.code() == Code::kNoSpace) return activated;
    Latch(std::move(activated), next_seq_, next_seq_);
    return failure_;
  }
  NoteActivated(*next);
  if (next_seq_ > 0) {
    acks_.Want(Level::kSync, next_seq_);
    Pump();
  }
  EnterSegment(std::move(next));
  // Where the commit has just left the map for direct writes, they begin here.
  staging_.MoveStart(AppendPoint());
  if (mode_ != WriteMode::kMmap) return Status::Ok();
  TailLegacy legacy = tail_ ? tail_->Leave() : TailLegacy{};
  tail_.reset();
  if (legacy.run) chain_.Watch(left_run_ = legacy.run);
  return EnsureMapped(std::move(legacy));
}

Result<std::shared_ptr<RotateJob>> Log::BeginRotate() {
  DURLOG_RETURN_IF_ERROR(CheckExclusive());
  if (active_->first_seq() == next_seq_) return std::shared_ptr<RotateJob>();
  DURLOG_RETURN_IF_ERROR(AwaitLevel(next_seq_ - 1, Level::kSync));
  DURLOG_RETURN_IF_ERROR(ActivateHere());
  exclusive_ = true;
  SetRecordTime(kClockTime);
  DropUnfitSpare();
  RequestSpare();
  tail_.reset();
  if (left_run_) left_run_->Await();
  auto next = std::make_shared<Segment>(next_seq_, chain_.TakeSpare());
  auto job =
      std::make_shared<RotateJob>(*directory_, active_, std::move(next), mode_ == WriteMode::kMmap);
  chain_.Watch(job);
  return job;
}

Status Log::FinishRotate(RotateJob& job) {
  exclusive_ = false;
  if (!job.status().ok()) {
    if (job.changed()) Latch(job.status(), next_seq_, next_seq_);
    PublishEnds();
    return job.changed() ? failure_ : job.status();
  }
  const std::shared_ptr<Segment> next = job.TakeSegment();
  NoteActivated(*next);
  NoteSealed();
  backlog_.Forget(active_.get());
  ResumeAt(next, kSegmentHeaderBytes, 0);
  // With a marker of its own the next open need not read the sealed segment.
  end_marked_ = false;
  PublishEnds();
  return mode_ == WriteMode::kMmap ? EnsureMapped() : Status::Ok();
}

TailShape Log::ShapeOf(const SegmentHeader& header) const {
  TailShape shape;
  shape.map_alignment = capabilities_.map_alignment;
  shape.window_bytes = options_.chunk_bytes;
  shape.populating = policy_.PopulatesWith(header.recycled);
  return shape;
}

// From here on records are stored into memory. Direct writes are over by now: the two never work
// on one file at a time, as the cache and the device would not agree.
Status Log::EnsureMapped(TailLegacy legacy) {
  if (commit_ && mode_ != WriteMode::kMmap) {
    commit_->Await();
    FinishCommit();
    if (latched_) return failure_;
  }
  DURLOG_RETURN_IF_ERROR(ActivateHere());
  Status allocated = active_->blocks_allocated()
                         ? Status::Ok()
                         : active_->file().Allocate(Preallocation::kFallocate, 0, active_->bytes());
  if (!allocated.ok()) {
    if (allocated.code() != Code::kUnsupported) return allocated;
    policy_.RefuseMap();
    if (mode_ == WriteMode::kMmap) mode_ = WriteMode::kPwrite;
    return Status::Ok();
  }
  if (mode_ != WriteMode::kMmap) ++stats_.mode_switches;
  mode_ = WriteMode::kMmap;
  tail_ = std::make_unique<MappedTail>(active_, append_offset_, ShapeOf(active_->header()),
                                       executor_, active_->TakeFirstChunk(), std::move(legacy));
  return Status::Ok();
}

void Log::ResumeAt(std::shared_ptr<Segment> segment, uint64_t offset, uint32_t last_time_ms) {
  active_ = std::move(segment);
  append_offset_ = offset;
  last_time_ms_ = last_time_ms;
  note_from_ = offset;
  tail_.reset();
  if (left_run_) left_run_->Await();
  staging_.Restart(AppendPoint());
  backlog_.Unseal(active_->first_seq());
}

}  // namespace durlog
