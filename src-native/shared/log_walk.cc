#include "shared/log_walk.h"

#include <string>

#include "record/segment_name.h"

namespace durlog {
namespace {

std::string PathOf(Member& member, const LogPoint& point) {
  return member.directory().PathOf(SegmentName(point.segment->first_seq()));
}

}  // namespace

Status DamagedPoint(Member& member, const LogPoint& point) {
  return Status::Error(Code::kIo,
                       "the bytes at the end of the log were not written by a writer of this log: "
                       "close the log everywhere and open it again")
      .WithPath(PathOf(member, point))
      .WithOffset(point.offset);
}

Status FaultedPoint(Member& member, const LogPoint& point) {
  return Status::Error(Code::kIo,
                       "a mapped page cannot be read or written: the file was truncated, or the "
                       "disk is full or failing")
      .WithPath(PathOf(member, point))
      .WithOffset(point.offset);
}

void LogWalk::Begin(std::shared_ptr<SharedSegment> segment) {
  point_.seq = segment->first_seq();
  point_.offset = kSegmentHeaderBytes;
  point_.segment = std::move(segment);
}

// Whether another member has found that this segment and perhaps later ones are whole. They may
// have been trimmed.
bool LogWalk::IsBehind() const {
  return member_.page().Load(PageWord::kCommittedFirst) > point_.segment->first_seq();
}

// Continues at the segment kCommittedFirst.
Status LogWalk::JumpAhead() {
  DURLOG_ASSIGN_OR_RETURN(auto segment, member_.SegmentOf(PageWord::kCommittedFirst));
  Begin(std::move(segment));
  return Status::Ok();
}

// False if the next segment has no name yet.
Result<bool> LogWalk::EnterNext() {
  MembersPage& page = member_.page();
  if (page.Load(PageWord::kActiveFirst) < point_.seq) return false;
  if (point_.segment->faulted()) return FaultedPoint(member_, point_);
  Result<std::shared_ptr<SharedSegment>> next = member_.SegmentAt(point_.seq);
  if (next.status().code() == Code::kNotFound &&
      page.Load(PageWord::kCommittedFirst) > point_.seq) {
    // The segment has been trimmed.
    DURLOG_RETURN_IF_ERROR(JumpAhead());
    return true;
  }
  if (!next.ok()) return next.TakeStatus();
  Begin(std::move(*next));
  if (policy_ == AtReserved::kStop) page.Raise(PageWord::kCommittedFirst, point_.seq);
  return true;
}

void LogWalk::PassReserved() {
  const bool own = OwnerOf(stop_.word) == member_.slot();
  if (policy_ == AtReserved::kVoidAll || (policy_ == AtReserved::kVoidOwn && own)) {
    MakeVoid(*point_.segment, point_.offset, point_.seq, stop_);
  } else {
    passed_reserved_ = true;
  }
}

Status LogWalk::Advance() {
  if (IsBehind()) DURLOG_RETURN_IF_ERROR(JumpAhead());
  passed_reserved_ = false;
  for (;;) {
    StepAt(*point_.segment, point_.offset, &stop_);
    if (stop_.kind == StepKind::kBad) {
      return point_.segment->faulted() ? FaultedPoint(member_, point_)
                                       : DamagedPoint(member_, point_);
    }
    if (stop_.kind == StepKind::kEnd) {
      DURLOG_ASSIGN_OR_RETURN(const bool entered, EnterNext());
      if (!entered) break;
      continue;
    }
    if (stop_.kind == StepKind::kFree) break;
    if (stop_.kind == StepKind::kReserved) {
      if (policy_ == AtReserved::kStop) break;
      PassReserved();
    }
    MovePast(stop_, &point_);
  }
  if (point_.segment->faulted()) return FaultedPoint(member_, point_);
  if (policy_ == AtReserved::kStop) member_.live().RaiseMemoryEnd(member_.slot(), point_.seq);
  return Status::Ok();
}

bool LogWalk::VoidIfDead() {
  if (stop_.kind != StepKind::kReserved || member_.IsAlive(OwnerOf(stop_.word))) return false;
  // The owner may have published the frame after stop_ was read and before it died. Now that it is
  // dead the word is final, and the header of a whole frame must not be overwritten.
  const uint64_t word = point_.segment->WordAt(point_.offset).load(std::memory_order_acquire);
  if (word == stop_.word) MakeVoid(*point_.segment, point_.offset, point_.seq, stop_);
  return true;
}

}  // namespace durlog
