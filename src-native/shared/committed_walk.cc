#include "shared/committed_walk.h"

#include "record/segment_name.h"

namespace durlog {
namespace {

std::string PathOf(Member& member, const LogPoint& point) {
  return member.directory().path() + "/" + SegmentName(point.segment->first_seq());
}

}  // namespace

Status DamagedPoint(Member& member, const LogPoint& point) {
  return Status::Error(Code::kIo, "the bytes at the end of the log are no writer's of it")
      .WithPath(PathOf(member, point))
      .WithOffset(point.offset);
}

Status FaultedPoint(Member& member, const LogPoint& point) {
  return Status::Error(Code::kIo,
                       "a mapped page could not be had (the file was cut, the disk is full or "
                       "failing)")
      .WithPath(PathOf(member, point))
      .WithOffset(point.offset);
}

// Another member has found all of the segments in front of that one whole.
Status CommittedWalk::JumpAhead() {
  const uint64_t first = member_.page().Load(PageWord::kCommittedFirst);
  if (first <= point_.segment->first_seq()) return Status::Ok();
  LogPoint there;
  DURLOG_ASSIGN_OR_RETURN(there.segment, member_.SegmentAt(first));
  there.seq = first;
  point_ = std::move(there);
  return Status::Ok();
}

Result<bool> CommittedWalk::EnterNext() {
  if (member_.page().Load(PageWord::kActiveFirst) < point_.seq) return false;
  if (point_.segment->faulted()) return FaultedPoint(member_, point_);
  Result<std::shared_ptr<SharedSegment>> next = member_.SegmentAt(point_.seq);
  if (next.status().code() == Code::kNotFound &&
      member_.page().Load(PageWord::kCommittedFirst) > point_.seq) {
    // It has been trimmed.
    DURLOG_RETURN_IF_ERROR(JumpAhead());
    return true;
  }
  if (!next.ok()) return next.TakeStatus();
  point_.segment = std::move(*next);
  point_.offset = kSegmentHeaderBytes;
  point_.after_marker = false;
  member_.page().Raise(PageWord::kCommittedFirst, point_.seq);
  return true;
}

Status CommittedWalk::Advance() {
  DURLOG_RETURN_IF_ERROR(JumpAhead());
  for (;;) {
    StepAt(*point_.segment, point_.offset, &stop_);
    if (stop_.kind == StepKind::kBad) {
      return point_.segment->faulted() ? FaultedPoint(member_, point_)
                                       : DamagedPoint(member_, point_);
    }
    if (stop_.kind == StepKind::kWhole) {
      MoveBehind(stop_, &point_);
      continue;
    }
    if (stop_.kind != StepKind::kEnd) break;
    DURLOG_ASSIGN_OR_RETURN(const bool entered, EnterNext());
    if (!entered) break;
  }
  if (point_.segment->faulted()) return FaultedPoint(member_, point_);
  TellReaders();
  return Status::Ok();
}

bool CommittedWalk::Pass(const SharedSegment& segment, uint64_t offset, const FrameStep& whole) {
  if (point_.offset != offset || point_.segment.get() != &segment) return false;
  MoveBehind(whole, &point_);
  return true;
}

bool CommittedWalk::VoidIfDead() {
  if (stop_.kind != StepKind::kReserved || member_.IsAlive(OwnerOf(stop_.word))) return false;
  // The owner may have published the frame after stop_ was read and before it died. Now that it is
  // dead the word is final, and the header of a whole frame must not be overwritten.
  const uint64_t word = point_.segment->WordAt(point_.offset).load(std::memory_order_acquire);
  if (word == stop_.word) MakeVoid(*point_.segment, point_.offset, point_.seq, stop_);
  return true;
}

}  // namespace durlog
