// Rotation of a log to its next segment.
#include <algorithm>
#include <string>
#include <utility>

#include "log/log.h"
#include "record/segment_name.h"

namespace durlog {

// The active segment may be the only one that states how far the log was synced. If it holds no
// record, it will be replaced under its own name, so its successor has to state the same.
uint64_t Log::EvidenceToKeep() const {
  return point_.at_segment_start() ? commits_.acks().synced_end() : 0;
}

// Requests a spare that holds frames of `frame_bytes`, unless there is a spare.
void Log::RequestSpare(uint64_t frame_bytes) {
  if (chain_.spare() != nullptr) return;
  descriptor_due_ = point_.unsynced_segments() > 1;
  const uint64_t bytes = chain_.NextBytes(point_.segment()->bytes(), frame_bytes);
  executor_->Execute(chain_.RequestSpare(uuid_, bytes, point_.time().ms(),
                                         point_.first_chunk_bytes(), EvidenceToKeep()));
}

// Drops a spare whose base time does not allow the time of the next record. Also drops one that was
// made for a record that has been cut or rolled back, if its base time is after the clock and after
// every record: later records would get that time. Also drops one that is too short, or that states
// less than it has to, or more than is synced since a cut.
void Log::DropUnfitSpare(uint64_t frame_bytes) {
  const SpareJob* const spare = chain_.spare();
  if (spare == nullptr) return;
  const uint64_t base_ms = spare->header().base_time_ms;
  const bool ahead = base_ms > std::max(point_.time().ms(), point_.newest_ms());
  const bool is_short = spare->header().segment_bytes - kSegmentHeaderBytes < frame_bytes;
  const uint64_t stated = spare->header().synced_end;
  const bool misstates = stated < EvidenceToKeep() || stated > commits_.acks().synced_end();
  if (ahead || is_short || misstates || !point_.time().MayFollow(base_ms, 0)) chain_.DropSpare();
}

// Called if the next frame does not fit. A staged segment has no name until its commit activates
// it. A failure changes nothing. Begins commits with commits_.Pump() alone, as Log::Pump() may
// latch the log, and the append continues.
Status Log::Rotate(uint64_t frame_bytes) {
  DURLOG_RETURN_IF_ERROR(point_.PrepareNext(frame_bytes));
  if (point_.TooMuchUnsynced()) {
    const uint64_t rollbacks = commits_.rollbacks();
    Harvest();
    if (latched()) return state_.LatchedError();
    commits_.Pump();
    // After a rollback the append point has moved, and the record would follow a lost record.
    if (point_.TooMuchUnsynced() || commits_.rollbacks() != rollbacks) {
      return Status::Error(Code::kBackpressure, std::to_string(point_.unsynced_segments()) +
                                                    " segments wait for the device");
    }
  }
  // A spare that failed before this append may succeed now.
  chain_.DropFailedSpare();
  DropUnfitSpare(frame_bytes);
  RequestSpare(frame_bytes);
  if (point_.maps()) return RotateMapped(frame_bytes);
  // A sealed segment is synced soon, whatever levels were requested. Its commit begins while it is
  // still the active segment, so that after a rollback appending resumes in a segment that exists.
  if (point_.mode() != WriteMode::kDirect) {
    commits_.Want(Level::kSync, next_seq());
    commits_.Pump();
  }
  EnterSegment(std::make_shared<Segment>(next_seq(), chain_.TakeSpare(), TakeReplaced()));
  return Status::Ok();
}

// A mapped segment has to exist before the first store. The file is renamed before the sync of the
// sealed segment begins, because the journal would make the rename wait for the sync.
Status Log::RotateMapped(uint64_t frame_bytes) {
  Status spare = chain_.CheckSpare();
  if (spare.code() == Code::kBackpressure) return spare;
  if (spare.code() == Code::kTooManyFiles && descriptor_due_) {
    RequestSpare(frame_bytes);
    return std::move(spare).WithCode(Code::kBackpressure);
  }
  if (!spare.ok()) {
    return std::move(spare).WithPath(directory_->PathOf(SegmentName(next_seq())));
  }
  auto next = std::make_shared<Segment>(next_seq(), chain_.TakeSpare(), TakeReplaced());
  Status activated = next->Activate(*directory_);
  if (!activated.ok()) {
    next->Discard(*directory_);
    // For any other reason the file may have its new name on the device.
    if (activated.may_be_repeated()) return activated;
    return commits_.LatchHere(std::move(activated));
  }
  chain_.NoteActivated(*next);
  commits_.Want(Level::kSync, next_seq());
  commits_.Pump();
  std::shared_ptr<Segment> sealed = point_.segment();
  chain_.NoteEnd(*sealed, point_.offset(), point_.last_frame());
  EnterSegment(std::move(next));
  // If the commit has just left the map, direct writes begin here.
  point_.MoveGroupStart();
  if (!point_.maps()) return Status::Ok();
  TailLegacy legacy = point_.LeaveSegment();
  chain_.NoteLeft(std::move(sealed));
  return point_.Map(std::move(legacy));
}

// Returns the active segment if it holds no record, because the next segment takes its name.
// Activating the next segment closes this one's file, so it must not be mapped and no commit may be
// syncing it.
std::shared_ptr<Segment> Log::TakeReplaced() {
  if (!point_.at_segment_start()) return nullptr;
  commits_.AwaitJob();
  return point_.GiveUpSegment();
}

void Log::EnterSegment(std::shared_ptr<Segment> next) {
  if (!point_.at_segment_start()) {
    retention_.NoteSealed(point_.segment()->first_seq(), point_.newest_ms());
  }
  point_.Enter(std::move(next));
}

Result<std::shared_ptr<RotateJob>> Log::BeginRotate() {
  DURLOG_RETURN_IF_ERROR(state_.CheckFree());
  DURLOG_RETURN_IF_ERROR(commits_.AwaitQuiet());
  if (point_.at_segment_start()) return std::shared_ptr<RotateJob>();
  DURLOG_RETURN_IF_ERROR(point_.Activate());
  state_.BeginExclusive();
  if (point_.time().Set(kClockTime)) live_.CheckStores();
  DropUnfitSpare(0);
  RequestSpare(0);
  auto next = std::make_shared<Segment>(next_seq(), chain_.TakeSpare());
  auto job = std::make_shared<RotateJob>(*directory_, point_.segment(), point_.RetireMap(),
                                         std::move(next));
  chain_.Watch(job);
  return job;
}

Status Log::FinishRotate(RotateJob& job) {
  state_.EndExclusive();
  if (!job.status().ok()) {
    Status failure = job.changed() ? commits_.LatchHere(job.status()) : job.status();
    commits_.PublishEnds();
    return failure;
  }
  const std::shared_ptr<Segment> next = job.TakeSegment();
  chain_.NoteActivated(*next);
  retention_.NoteSealed(point_.segment()->first_seq(), point_.newest_ms());
  point_.ForgetUnsynced(point_.segment().get());
  point_.Resume({next_seq(), next, kSegmentHeaderBytes, 0});
  commits_.Reset(/*end_stated=*/true);
  commits_.PublishEnds();
  return Status::Ok();
}

}  // namespace durlog
