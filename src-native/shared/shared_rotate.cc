// The segment that the members append to, and the way to the next one.
#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "base/yield.h"
#include "record/segment_name.h"
#include "shared/shared_log.h"
#include "shared/steps.h"
#include "write/unsynced_limit.h"

namespace durlog {
namespace {

// How far ahead of the append point pages are populated, and how many by one job.
constexpr uint64_t kPopulateBytes = 4u << 20;
constexpr uint64_t kFirstPopulateBytes = 128u << 10;
// The member that has the lock gives the name within some ten microseconds.
constexpr int kRotateYields = 200;

}  // namespace

// Moves the append point past all reservations; append_->stop() then describes the frame there. If
// the committed point was at the same place, it moves too, so that each frame is read only once.
Status SharedLog::CatchUp() {
  NoteLatchOfOthers();
  if (latched_) return LatchedError();
  const LogPoint& point = append_->point();
  const bool together = committed_->IsAt(*point.segment, point.offset);
  const uint64_t before = point.offset;
  Status advanced = append_->Advance();
  if (!advanced.ok()) {
    NoteFailure(advanced);
    return latched_ ? LatchedError() : advanced;
  }
  if (point.segment != entered_) {
    NoteEntered();
  } else if (together && point.offset != before && !append_->passed_reserved()) {
    committed_->MoveTo(point);
  }
  return Status::Ok();
}

// Ends the active segment before its end is reached: no record follows in it.
Status SharedLog::Seal(SealReason reason) {
  const LogPoint& point = append_->point();
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
  seal.word = ReservedWord(seal.bytes, seal.seqs, member_->slot());
  uint64_t free = 0;
  if (!segment.WordAt(point.offset)
           .compare_exchange_strong(free, seal.word, std::memory_order_acq_rel,
                                    std::memory_order_relaxed)) {
    return Status::Ok();  // another member has reserved the place, for a record or for the seal
  }
  AtStep(Step::kSealReserved);
  if (!segment.faulted()) MakeVoid(segment, point.offset, point.seq, seal);
  AtStep(Step::kSealStored);
  if (!segment.faulted()) return Status::Ok();
  Latch(FaultedPoint(*member_, point));
  return LatchedError();
}

void SharedLog::NoteEntered() {
  left_ = std::exchange(entered_, append_->point().segment);
  populated_until_ = stretch_from_ = kSegmentHeaderBytes;
  stretch_ = {};
  if (listener_ != nullptr) {
    ++stats_.rotations;
    listener_->OnRotated(entered_->first_seq());
  }
}

bool SharedLog::TooMuchUnsynced() const {
  MembersPage& page = member_->page();
  const uint64_t segments = page.Load(PageWord::kRotations) - page.Load(PageWord::kSyncedRotations);
  return ReachesUnsyncedLimit(segments, segments * options_.segment_bytes);
}

// Called with the append point at the end of a sealed segment. After success, the next segment has
// its name, and CatchUp() enters it.
Status SharedLog::MakeNext() {
  const uint64_t next = append_->point().seq;
  if (member_->page().Load(PageWord::kActiveFirst) >= next) return Status::Ok();
  // A sealed segment is synced soon, whatever levels were requested.
  acks_.Want(Level::kSync, next);
  if (TooMuchUnsynced()) {
    Pump();
    return Status::Error(Code::kBackpressure, "segments wait for the device");
  }
  return Rotate(next);
}

Status SharedLog::Rotate(uint64_t first_seq) {
  MembersPage& page = member_->page();
  for (int yields = 0; yields < kRotateYields; ++yields) {
    if (page.Load(PageWord::kActiveFirst) >= first_seq) return Status::Ok();
    const std::unique_lock<std::mutex> here(member_->rotating(), std::try_to_lock);
    if (!here.owns_lock()) break;  // this member's job makes the file
    DURLOG_ASSIGN_OR_RETURN(const bool locked, page.TryLock(PageLock::kRotate));
    if (locked) {
      const PageLockRelease release(page, PageLock::kRotate);
      DURLOG_ASSIGN_OR_RETURN(const bool named, GiveName(first_seq));
      if (named) return Status::Ok();
      break;
    }
    YieldThread();
  }
  // Reports the failure only of a job that an append waited for. An older failure may not recur.
  spare_failure_seen_ = false;
  if (spare_job_ && spare_job_->failed()) {
    const std::shared_ptr<SharedSpareJob> failed = std::exchange(spare_job_, nullptr);
    if (failed->waits()) {
      return Status(failed->status()).WithPath(member_->directory().PathOf(SegmentName(first_seq)));
    }
  }
  RequestSpare(true);
  return Status::Error(Code::kBackpressure, "the next segment is being prepared");
}

// Whether a record that is appended now can have its time in a segment with this base time. The
// clock may have been set back since the spare was made, or the log may have been idle for weeks.
bool SharedLog::FitsNow(uint64_t base_time_ms) const {
  const uint64_t now_ms = member_->file_system().NowMs();
  return base_time_ms <= now_ms && now_ms - base_time_ms <= UINT32_MAX;
}

// The caller holds PageLock::kRotate. False if there is no spare. A member may have died after any
// step of this function: the segment may have its name although the page does not show it.
Result<bool> SharedLog::GiveName(uint64_t first_seq) {
  MembersPage& page = member_->page();
  if (page.Load(PageWord::kActiveFirst) >= first_seq) return true;
  const std::string name = SegmentName(first_seq);
  const Status named = member_->directory().Open(name, OpenMode::kRead).TakeStatus();
  if (!named.ok()) {
    if (named.code() != Code::kNotFound) return named;
    const uint64_t spare = page.Load(PageWord::kSpare);
    if (spare == 0) return false;
    const bool fits = FitsNow(spare - 1);
    AtStep(Step::kBeforeRename);
    Status renamed = fits ? member_->directory().Rename(page.NextSpareName(), name)
                          : Status::Error(Code::kNotFound, "the spare does not fit");
    if (renamed.code() == Code::kNotFound) {
      page.Word(PageWord::kSpare).store(0, std::memory_order_release);
      return false;
    }
    if (!renamed.ok()) {
      return std::move(renamed).WithPath(member_->directory().PathOf(name));
    }
    AtStep(Step::kRenamed);
  }
  page.Word(PageWord::kSpare).store(0, std::memory_order_release);
  page.Word(PageWord::kRotations).fetch_add(1, std::memory_order_acq_rel);
  page.Raise(PageWord::kActiveFirst, first_seq);
  AtStep(Step::kActivated);
  return true;
}

// Requests a spare. With `waits`, an append waits for it: the job then also waits for another
// member that is making the spare, and the append fails if the job fails. If another member makes
// the spare, this member makes a second request once it exists, in order to open it.
void SharedLog::RequestSpare(bool waits) {
  const uint64_t segment = append_->point().segment->first_seq();
  const bool made = member_->page().Load(PageWord::kSpare) != 0;
  if (!waits && spare_requested_in_ == segment && (spare_request_made_ || !made)) return;
  if (spare_job_ && !spare_job_->done()) return;
  spare_requested_in_ = segment;
  spare_request_made_ = made;
  SpareRequest request;
  request.preallocation =
      options_.preallocation_auto ? Preallocation::kFallocate : options_.preallocation;
  request.direct_alignment = capabilities_.direct_io ? capabilities_.direct_alignment : 0;
  spare_job_ = std::make_shared<SharedSpareJob>(
      member_, request,
      SharedHeader(member_->file_system(), uuid_, member_->file_system().NowMs(),
                   options_.segment_bytes),
      waits ? options_.stall_ms : 0);
  executor_->Execute(spare_job_);
}

void SharedLog::PopulateAhead() {
  const LogPoint& point = append_->point();
  // Populates little at first, for logs of a few records.
  const uint64_t ahead = std::min(kPopulateBytes, std::max(point.offset, kFirstPopulateBytes));
  if (point.offset + ahead / 2 <= populated_until_) return;
  if (populate_job_ && !populate_job_->done()) return;
  const uint64_t end = point.segment->bytes();
  if (populated_until_ >= end) return;
  const uint64_t begin = AlignDown(std::max(populated_until_, point.offset), kSegmentHeaderBytes);
  populated_until_ = std::min(begin + ahead, end);
  stretch_.bytes = point.offset - std::exchange(stretch_from_, point.offset);
  populate_job_ =
      std::make_shared<PopulateJob>(point.segment, begin, populated_until_,
                                    std::exchange(stretch_, {}), std::exchange(left_, nullptr));
  executor_->Execute(populate_job_);
}

}  // namespace durlog
