// Moves a point from frame to frame through a log that several members append to.
#pragma once

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
};

inline void MovePast(const FrameStep& step, LogPoint* point) {
  point->offset += step.bytes;
  point->seq += step.seqs;
}

// How a walk treats a frame that is reserved and not whole.
enum class AtReserved : uint8_t {
  kStop,     // stop: the point is the committed end, before which every frame is whole
  kPass,     // pass it: the point is the append point, before which everything is reserved
  kVoidOwn,  // pass it, after replacing it with a void if it was reserved from this member's slot
  kVoidAll,  // pass it, after replacing it with a void: no other member is alive
};

// Used by one thread at a time. Each thread of a member uses a separate walk: no word of the page
// holds its point.
class LogWalk {
 public:
  LogWalk(Member& member, AtReserved policy, LogPoint from)
      : member_(member), policy_(policy), point_(std::move(from)) {}

  // Moves the point forward through all segments as far as the policy allows. Afterwards, stop()
  // describes the frame at the point. With kStop, publishes the point to readers. kIo if a page
  // cannot be read, or if the bytes at the point are no frame of a member.
  Status Advance();
  const LogPoint& point() const { return point_; }
  const FrameStep& stop() const { return stop_; }
  bool IsAt(const SharedSegment& segment, uint64_t offset) const {
    return point_.offset == offset && point_.segment.get() == &segment;
  }
  // Passes the frame at the point, which the caller knows to be as `step` describes it.
  void Pass(const FrameStep& step) { MovePast(step, &point_); }
  // Moves to a point that another walk of the same policy has reached, if it is further.
  void MoveTo(const LogPoint& point) {
    if (point.seq > point_.seq) point_ = point;
  }
  // Whether the last Advance() has passed a reservation of a member that may still finish it.
  bool passed_reserved() const { return passed_reserved_; }
  // After Advance() has stopped at a reservation: makes a void of it if its owner is dead. True if
  // the walk can continue.
  bool VoidIfDead();

 private:
  bool IsBehind() const;
  Status JumpAhead();
  Result<bool> EnterNext();
  void Begin(std::shared_ptr<SharedSegment> segment);
  void PassReserved();

  Member& member_;
  const AtReserved policy_;
  LogPoint point_;
  FrameStep stop_;
  bool passed_reserved_ = false;
};

// The error for bytes at the point that are no frame of a member.
Status DamagedPoint(Member& member, const LogPoint& point);
// The error for a page of the segment that cannot be read or written.
Status FaultedPoint(Member& member, const LogPoint& point);

}  // namespace durlog
