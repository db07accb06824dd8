#include "shared/shared_append_point.h"

#include "write/log_writer.h"

namespace durlog {

// A time of the caller that the segment cannot hold is an error: the other members append to the
// segment too. Called after CatchUp() and before the reservation: see MembersPage::RaiseTime().
Result<bool> SharedAppendPoint::SetFrameTime(uint64_t time_ms) {
  const bool exact = time_ms != LogWriter::kClockTime;
  const uint64_t record_ms = exact ? time_ms : clock_.now_ms();
  const SharedSegment& segment = *at().segment;
  const uint64_t base_ms = segment.header().base_time_ms;
  const uint64_t elapsed_ms = record_ms > base_ms ? record_ms - base_ms : 0;
  if (exact && (record_ms < base_ms || elapsed_ms > UINT32_MAX)) {
    return Status::Error(Code::kUnsupported,
                         "a log in shared mode accepts only times from its newest segment's base "
                         "time to 49.7 days after it: append records with other times while one "
                         "process has the log open alone");
  }
  if (elapsed_ms > UINT32_MAX) return false;
  const auto time = static_cast<uint32_t>(elapsed_ms);
  const uint32_t newest = member_.page().RaiseTime(segment.first_seq(), time);
  frame_time_ms_ = exact ? time : newest;
  return true;
}

Result<bool> SharedAppendPoint::Seal(SealReason reason) {
  const LogPoint& point = at();
  SharedSegment& segment = *point.segment;
  // The next segment must have another name, so the seal of an empty segment takes a seq.
  const bool is_empty = point.seq == segment.first_seq();
  if (is_empty && reason == SealReason::kFull) {
    return Status::Error(Code::kBatchTooLarge,
                         "the batch does not fit into a segment: append fewer records at once, or "
                         "open the log with a larger segmentBytes");
  }
  FrameStep seal;
  seal.kind = StepKind::kReserved;
  seal.bytes = std::min(segment.bytes() - point.offset, kMaxReservedBytes);
  seal.seqs = is_empty ? 1 : 0;
  seal.word = ReservedWord(seal.bytes, seal.seqs, member_.slot());
  uint64_t free = 0;
  if (!segment.WordAt(point.offset)
           .compare_exchange_strong(free, seal.word, std::memory_order_acq_rel,
                                    std::memory_order_relaxed)) {
    return false;  // another member has reserved the place, for a record or for the seal
  }
  AtStep(Step::kSealReserved);
  if (!segment.faulted()) MakeVoid(segment, point.offset, point.seq, seal);
  AtStep(Step::kSealStored);
  if (segment.faulted()) return Break(point);
  return false;
}

}  // namespace durlog
