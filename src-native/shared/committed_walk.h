// Where everything is whole: the end that a member acknowledges records by, found by walking over
// the frames in order.
#ifndef DURLOG_SHARED_COMMITTED_WALK_H_
#define DURLOG_SHARED_COMMITTED_WALK_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "base/status.h"
#include "shared/frame_step.h"
#include "shared/member.h"
#include "shared/shared_segment.h"

namespace durlog {

// A place where a frame begins, and the seq of the record that is or will be there.
struct LogPoint {
  std::shared_ptr<SharedSegment> segment;
  uint64_t offset = kSegmentHeaderBytes;
  uint64_t seq = 0;
  bool after_marker = false;  // the frame in front of it is a marker
};

inline void MoveBehind(const FrameStep& step, LogPoint* point) {
  point->offset += step.bytes;
  point->seq += step.seqs;
  point->after_marker = step.marker;
}

// One thread at a time. Each thread of a member has a walk of its own: no word of the page says
// where it is.
class CommittedWalk {
 public:
  CommittedWalk(Member& member, LogPoint from) : member_(member), point_(std::move(from)) {}

  // Moves on as far as frames are whole, and tells readers. Then stop() is what stands there. kIo
  // where a page of the segment could not be had.
  Status Advance();
  // The frame at `offset` is known to be whole, and is passed by without another look where the
  // walk stands in front of it; false elsewhere. Readers are not told.
  bool Pass(const SharedSegment& segment, uint64_t offset, const FrameStep& whole);
  void TellReaders() { member_.live().RaiseMemoryEnd(point_.seq); }
  const LogPoint& point() const { return point_; }
  const FrameStep& stop() const { return stop_; }
  // After Advance(). Makes a void of the reservation that stands there, if its owner is dead. True
  // where the walk can go on.
  bool VoidIfDead();
  // To where another thread's walk has come, if that is further.
  void MoveTo(const LogPoint& point) {
    if (point.seq > point_.seq) point_ = point;
  }

 private:
  Status JumpAhead();
  // False where there is no next segment yet.
  Result<bool> EnterNext();

  Member& member_;
  LogPoint point_;
  FrameStep stop_;
};

// That what stands at the point is no frame that a member leaves there.
Status DamagedPoint(Member& member, const LogPoint& point);
// That a page of the segment could not be had.
Status FaultedPoint(Member& member, const LogPoint& point);

}  // namespace durlog

#endif  // DURLOG_SHARED_COMMITTED_WALK_H_
