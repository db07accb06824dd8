// Rotation to the next segment, and the map of the active one.
#include <algorithm>
#include <utility>

#include "log/log.h"
#include "record/segment_name.h"
#include "write/unsynced_limit.h"

namespace durlog {

// Requests a spare that holds frames of `frame_bytes`, unless there is a spare.
void Log::RequestSpare(uint64_t frame_bytes) {
  if (chain_.spare() != nullptr) return;
  // The log's first segment may stay its only one, so little of it is mapped. The next segment
  // follows a stream of records, so more of it is mapped.
  uint64_t first_chunk_bytes = 0;
  if (mode_ == WriteMode::kMmap) {
    first_chunk_bytes = tail_ ? tail_->lead_bytes() : ShapeOf(active_->header()).chunk_bytes();
  }
  const uint64_t bytes = chain_.NextBytes(active_->bytes(), frame_bytes);
  executor_->Execute(chain_.RequestSpare(uuid_, bytes, record_ms_, first_chunk_bytes));
}

// Drops a spare whose base time does not allow the time of the next record. Also drops one that was
// made for a record that has been cut or rolled back, if its base time is after the clock and after
// every record: later records would get that time. Also drops one that is too short.
void Log::DropUnfitSpare(uint64_t frame_bytes) {
  const SpareJob* const spare = chain_.spare();
  if (spare == nullptr) return;
  const uint64_t base_ms = spare->header().base_time_ms;
  const uint64_t newest_ms = active_->header().base_time_ms + last_time_ms_;
  const bool ahead = base_ms > std::max(record_ms_, newest_ms);
  const bool is_short = spare->header().segment_bytes - kSegmentHeaderBytes < frame_bytes;
  if (ahead || is_short || !TakesRecordTime(base_ms, 0)) chain_.DropSpare();
}

bool Log::TooMuchUnsynced() const {
  return ReachesUnsyncedLimit(backlog_.segment_count(), options_.segment_bytes) ||
         staging_.segment_count() >= kMaxUnsyncedSegments;
}

// Activates the active segment if this thread needs its file and no commit has activated it.
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

// Called if the next frame does not fit. A staged segment has no name until its commit activates
// it. A failure changes nothing.
Status Log::Rotate(uint64_t frame_bytes) {
  if (TooMuchUnsynced()) {
    const uint64_t rollbacks = rollbacks_;
    Harvest();
    if (latched_) return LatchedError();
    Pump();
    // After a rollback the append point has moved, and the append would follow a lost one.
    if (TooMuchUnsynced() || rollbacks_ != rollbacks) {
      return Status::Error(Code::kBackpressure, std::to_string(backlog_.segment_count()) +
                                                    " segments wait for the device");
    }
  }
  // A spare that failed before this append may succeed now.
  chain_.DropFailedSpare();
  DropUnfitSpare(frame_bytes);
  RequestSpare(frame_bytes);
  if (mode_ == WriteMode::kMmap) return RotateMapped();
  // A sealed segment is synced soon, whatever levels were requested. Its commit begins while it is
  // still the active segment, so that after a rollback appending resumes in a segment that exists.
  if (mode_ != WriteMode::kDirect && next_seq_ > 0) {
    acks_.Want(Level::kSync, next_seq_);
    Pump();
  }
  EnterSegment(std::make_shared<Segment>(next_seq_, chain_.TakeSpare(), TakeReplaced()));
  return Status::Ok();
}

// Returns the active segment if it holds no record, because the next segment takes its name.
// Activating the next segment closes this one's file, so it must not be mapped and no commit may be
// syncing it.
std::shared_ptr<Segment> Log::TakeReplaced() {
  if (active_->first_seq() != next_seq_) return nullptr;
  if (commit_) commit_->Await();
  tail_.reset();
  // The bytes of a refused batch in it have been cut, and its file will not exist.
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

// Notes the sealed segment for the next retention job, if there has been one. If a rollback unseals
// the segment, it is noted again when it is sealed, before a job needs its time.
void Log::NoteSealed() {
  if (!survey_) return;
  sealed_.push_back({active_->first_seq(), active_->header().base_time_ms + last_time_ms_});
}

// A mapped segment has to exist before the first store. The file is renamed before the sync of the
// sealed segment begins, because the journal would make the rename wait for the sync.
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
  // If the commit has just left the map, direct writes begin here.
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
  DropUnfitSpare(0);
  RequestSpare(0);
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
  // A marker in the new segment saves the next open from reading the sealed one.
  end_marked_ = false;
  PublishEnds();
  return mode_ == WriteMode::kMmap ? EnsureMapped() : Status::Ok();
}

TailShape Log::ShapeOf(const SegmentHeader& header) const {
  TailShape shape;
  shape.map_alignment = capabilities_.map_alignment;
  shape.window_bytes = options_.chunk_bytes;
  while (shape.window_bytes > header.segment_bytes) shape.window_bytes /= 2;
  shape.populating = policy_.PopulatesWith(header.recycled);
  return shape;
}

// Records are stored into memory from now on. All direct writes have ended: if both worked on one
// file at a time, the page cache and the device would differ.
Status Log::EnsureMapped(TailLegacy legacy) {
  if (commit_ && mode_ != WriteMode::kMmap) {
    commit_->Await();
    FinishCommit();
    if (latched_) return failure_;
  }
  DURLOG_RETURN_IF_ERROR(ActivateHere());
  Status allocated =
      active_->blocks_allocated() ? Status::Ok() : active_->file().Allocate(0, active_->bytes());
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
