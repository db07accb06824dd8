// The segment that the members append to, and the way to the next one.
#include <algorithm>
#include <string>
#include <utility>

#include "base/yield.h"
#include "log/sync_backlog.h"
#include "record/segment_name.h"
#include "shared/shared_log.h"
#include "shared/steps.h"

namespace durlog {
namespace {

// What is populated ahead of the append point, and in one piece.
constexpr uint64_t kPopulateBytes = 4u << 20;
constexpr uint64_t kFirstPopulateBytes = 128u << 10;
// A name is given in some ten microseconds, by whoever has the lock.
constexpr int kRotateYields = 200;
// Bounds the dirty page cache, and what the next open has to scan: see SyncBacklog.
constexpr uint64_t kMinUnsyncedSegments = 4;
constexpr uint64_t kMaxUnsyncedBytes = 256u << 20;

}  // namespace

// Moves the append point behind everything that is reserved; `stop` is what stands there. Where the
// two points are one, so does the committed walk behind what is whole: a frame is looked at once.
Status SharedLog::CatchUp(FrameStep* stop) {
  MembersPage& page = member_->page();
  NoteLatchOfOthers();
  if (latched_) return LatchedError();
  for (;;) {
    const uint64_t active = page.Load(PageWord::kActiveFirst);
    if (active <= append_.segment->first_seq()) break;
    Result<std::shared_ptr<SharedSegment>> segment = member_->SegmentAt(active);
    if (segment.ok()) {
      Enter(std::move(*segment));
      break;
    }
    // It was sealed and trimmed since.
    if (page.Load(PageWord::kActiveFirst) == active) return segment.TakeStatus();
  }
  SharedSegment& segment = *append_.segment;
  for (;;) {
    StepAt(segment, append_.offset, stop);
    if (stop->kind != StepKind::kWhole && stop->kind != StepKind::kReserved) break;
    if (stop->kind == StepKind::kWhole) committed_->Pass(segment, append_.offset, *stop);
    MoveBehind(*stop, &append_);
  }
  if (stop->kind != StepKind::kBad && !segment.faulted()) return Status::Ok();
  Latch(segment.faulted() ? FaultedPoint(*member_, append_) : DamagedPoint(*member_, append_));
  return LatchedError();
}

// No record follows in this segment, and the next one's name is another.
Status SharedLog::Seal() {
  SharedSegment& segment = *append_.segment;
  if (append_.seq == segment.first_seq()) {
    return Status::Error(Code::kBatchTooLarge, "what is appended does not fit into a segment");
  }
  FrameStep seal;
  seal.kind = StepKind::kReserved;
  seal.bytes = std::min(segment.bytes() - append_.offset, kMaxReservedBytes);
  seal.word = ReservedWord(seal.bytes, 0, member_->slot());
  uint64_t free = 0;
  if (!segment.WordAt(append_.offset)
           .compare_exchange_strong(free, seal.word, std::memory_order_acq_rel,
                                    std::memory_order_relaxed)) {
    return Status::Ok();  // somebody was faster, with a record or with the seal
  }
  AtStep(Step::kSealReserved);
  if (!segment.faulted()) MakeVoid(segment, append_.offset, append_.seq, seal);
  AtStep(Step::kSealStored);
  if (!segment.faulted()) return Status::Ok();
  Latch(FaultedPoint(*member_, append_));
  return LatchedError();
}

void SharedLog::Enter(std::shared_ptr<SharedSegment> segment) {
  append_.seq = segment->first_seq();
  append_.offset = kSegmentHeaderBytes;
  append_.after_marker = false;
  left_ = std::exchange(append_.segment, std::move(segment));
  populated_until_ = stretch_from_ = kSegmentHeaderBytes;
  stretch_ = {};
  if (listener_ != nullptr) {
    ++stats_.rotations;
    listener_->OnRotated(append_.seq);
  }
}

bool SharedLog::TooMuchUnsynced() const {
  MembersPage& page = member_->page();
  const uint64_t segments = page.Load(PageWord::kRotations) - page.Load(PageWord::kSyncedRotations);
  return segments >= SyncBacklog::kMaxSegments ||
         (segments >= kMinUnsyncedSegments &&
          segments * options_.segment_bytes >= kMaxUnsyncedBytes);
}

// The append point is at the end of a sealed segment.
Status SharedLog::EnterNext() {
  const uint64_t next = append_.seq;
  if (member_->page().Load(PageWord::kActiveFirst) < next) {
    // What is sealed is synced soon, whatever level was asked for.
    wanted_[static_cast<size_t>(Level::kSync)] =
        std::max(wanted_[static_cast<size_t>(Level::kSync)], next);
    if (TooMuchUnsynced()) {
      Pump();
      return Status::Error(Code::kBackpressure, "segments wait for the device");
    }
    DURLOG_RETURN_IF_ERROR(Rotate(next));
  }
  // CatchUp() goes there.
  return Status::Ok();
}

Status SharedLog::Rotate(uint64_t first_seq) {
  MembersPage& page = member_->page();
  for (int yields = 0; yields < kRotateYields; ++yields) {
    if (page.Load(PageWord::kActiveFirst) >= first_seq) return Status::Ok();
    DURLOG_ASSIGN_OR_RETURN(const bool alone, page.TryLock(PageLock::kRotate));
    if (alone) {
      Status named = GiveName(first_seq);
      page.Unlock(PageLock::kRotate);
      return named;
    }
    YieldThread();
  }
  RequestSpare(true);
  return Status::Error(Code::kBackpressure, "another writer gives the next segment its name");
}

// Under PageLock::kRotate. A member that died here may have given the name, and told nobody.
Status SharedLog::GiveName(uint64_t first_seq) {
  MembersPage& page = member_->page();
  if (page.Load(PageWord::kActiveFirst) >= first_seq) return Status::Ok();
  const std::string name = SegmentName(first_seq);
  Result<std::unique_ptr<File>> named = member_->directory().Open(name, OpenMode::kRead);
  if (!named.ok()) {
    if (named.status().code() != Code::kNotFound) return named.TakeStatus();
    const uint64_t spare = page.Load(PageWord::kSpare);
    if (spare == 0) {
      if (spare_job_ && spare_job_->done() && !spare_job_->status().ok()) {
        return std::exchange(spare_job_, nullptr)->status();
      }
      RequestSpare(true);
      return Status::Error(Code::kBackpressure, "the next segment is being prepared");
    }
    AtStep(Step::kBeforeRename);
    Status renamed = member_->directory().Rename(SpareName(spare), name);
    if (!renamed.ok() && renamed.code() != Code::kNotFound) return renamed;
    AtStep(Step::kRenamed);
    page.Word(PageWord::kSpare).store(0, std::memory_order_release);
    if (!renamed.ok()) {
      RequestSpare(true);
      return Status::Error(Code::kBackpressure, "the next segment is being prepared");
    }
  }
  page.Word(PageWord::kRotations).fetch_add(1, std::memory_order_acq_rel);
  page.Raise(PageWord::kActiveFirst, first_seq);
  AtStep(Step::kActivated);
  return Status::Ok();
}

// With `waits` whoever makes one is waited for, and a failure is told by the next rotation.
void SharedLog::RequestSpare(bool waits) {
  if (!waits && (spare_asked_in_ == append_.segment->first_seq() ||
                 member_->page().Load(PageWord::kSpare) != 0)) {
    return;
  }
  if (spare_job_ && !spare_job_->done()) return;
  spare_asked_in_ = append_.segment->first_seq();
  SpareRequest request;
  request.preallocation =
      options_.preallocation_auto ? Preallocation::kFallocate : options_.preallocation;
  request.extent_size_hint = options_.extent_size_hint;
  request.direct_alignment = capabilities_.direct_io ? capabilities_.direct_alignment : 0;
  spare_job_ = std::make_shared<SharedSpareJob>(
      member_, request,
      SharedHeader(member_->file_system(), uuid_, member_->file_system().NowMs(),
                   options_.segment_bytes),
      waits ? options_.stall_ms : 0);
  executor_->Execute(spare_job_);
}

void SharedLog::PopulateAhead() {
  // A log of ten records dirties little.
  const uint64_t ahead = std::min(kPopulateBytes, std::max(append_.offset, kFirstPopulateBytes));
  if (append_.offset + ahead / 2 <= populated_until_) return;
  if (populate_job_ && !populate_job_->done()) return;
  const uint64_t end = append_.segment->bytes();
  if (populated_until_ >= end) return;
  const uint64_t begin = AlignDown(std::max(populated_until_, append_.offset), kSegmentHeaderBytes);
  populated_until_ = std::min(begin + ahead, end);
  stretch_.bytes = append_.offset - std::exchange(stretch_from_, append_.offset);
  populate_job_ =
      std::make_shared<PopulateJob>(append_.segment, begin, populated_until_,
                                    std::exchange(stretch_, {}), std::exchange(left_, nullptr));
  executor_->Execute(populate_job_);
}

}  // namespace durlog
