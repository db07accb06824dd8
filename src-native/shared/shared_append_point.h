// Where a member appends: after the last place that it knows to be reserved by any member.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/status.h"
#include "record/record_codec.h"
#include "shared/log_walk.h"
#include "shared/member.h"
#include "shared/steps.h"
#include "write/record_clock.h"

namespace durlog {

// A place that this member has reserved. It belongs to the member until it publishes the frame or
// dies.
struct Place {
  uint64_t offset = 0;
  uint64_t seq = 0;
  FrameStep step;  // with which a walk passes the published frame
};

class SharedAppendPoint {
 public:
  // `member` must outlive the point, which has no position before Start().
  explicit SharedAppendPoint(Member& member) : member_(member), clock_(member.file_system()) {}
  void Start(const LogPoint& point) { walk_.emplace(member_, AtReserved::kPass, point); }

  const LogPoint& at() const { return walk_->point(); }
  // Whether no frame fits into the rest of the segment, so that the log needs the next one.
  bool at_segment_end() const { return walk_->stop().kind == StepKind::kEnd; }
  // Whether the last CatchUp() has passed a reservation that another member may still finish.
  bool passed_reserved() const { return walk_->passed_reserved(); }
  // Whether bytes at the point are unknown after a failure, so that the log must latch.
  bool broken() const { return broken_; }
  RecordClock& clock() { return clock_; }

  // Moves past all reservations.
  Status CatchUp() {
    Status advanced = walk_->Advance();
    // Without descriptors or memory, the call can be repeated.
    if (!advanced.ok()) broken_ = !advanced.lacks_resources();
    return advanced;
  }
  // Requires CatchUp(), and that the point is not at the segment's end. On success, `place` is
  // reserved. False if the caller has to catch up and try again: the segment was sealed, or another
  // member has the place.
  Result<bool> TryReserve(uint64_t frame_bytes, uint64_t seqs, uint64_t time_ms, Place* place) {
    const LogPoint& point = at();
    SharedSegment& segment = *point.segment;
    if (point.offset + frame_bytes > segment.bytes()) return Seal(SealReason::kFull);
    DURLOG_ASSIGN_OR_RETURN(const bool fits, SetFrameTime(time_ms));
    if (!fits) return Seal(SealReason::kTime);
    AtStep(Step::kBeforeReserve);
    uint64_t free = 0;
    if (!segment.WordAt(point.offset)
             .compare_exchange_strong(free, ReservedWord(frame_bytes, seqs, member_.slot()),
                                      std::memory_order_acq_rel, std::memory_order_relaxed)) {
      return false;
    }
    AtStep(Step::kReserved);
    // The reservation may be visible only to this process.
    if (segment.faulted()) return Break(point);
    *place = {point.offset, point.seq, {StepKind::kWhole, frame_bytes, 0, seqs}};
    walk_->Pass(place->step);
    return true;
  }

  // The fields of a frame in the place that TryReserve() has reserved last.
  FrameFields Fields(uint64_t seq, size_t payload_bytes) const {
    FrameFields fields;
    fields.state = FrameState::kCommitted;
    fields.length = static_cast<uint32_t>(payload_bytes);
    fields.seq = seq;
    // Limited to `seq`, because no later record can be synced before this one is committed.
    const uint64_t synced = std::min(member_.page().Load(PageWord::kSyncedEnd), seq);
    fields.unsynced = static_cast<uint32_t>(std::min<uint64_t>(seq - synced, UINT32_MAX));
    fields.time_ms = frame_time_ms_;
    return fields;
  }
  // Does not publish the frame if a page was lost: the other members would not see its bytes.
  Status Publish(const Place& place, uint64_t first_word) {
    SharedSegment& segment = *at().segment;
    AtStep(Step::kHeaderStored);
    if (!segment.faulted()) {
      segment.WordAt(place.offset).store(first_word, std::memory_order_release);
    }
    if (segment.faulted()) return Break({at().segment, place.offset, place.seq});
    AtStep(Step::kPublished);
    return Status::Ok();
  }

 private:
  enum class SealReason : uint8_t { kFull, kTime };

  // Sets the time of the next frame. False if the clock's time is too late for the segment.
  Result<bool> SetFrameTime(uint64_t time_ms);
  // Ends the segment before its end is reached: no record follows in it. False on success.
  Result<bool> Seal(SealReason reason);
  Status Break(const LogPoint& point) {
    broken_ = true;
    return FaultedPoint(member_, point);
  }

  Member& member_;
  std::optional<LogWalk> walk_;
  RecordClock clock_;
  uint32_t frame_time_ms_ = 0;
  bool broken_ = false;
};

}  // namespace durlog
