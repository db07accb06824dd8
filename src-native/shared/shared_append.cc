// Appending as one of several members: reserve, fill, publish.
#include <algorithm>
#include <string>
#include <utility>

#include "base/inline_calls.h"
#include "checksum/crc32c.h"
#include "shared/shared_log.h"
#include "shared/steps.h"

namespace durlog {
namespace {

// Stores a frame without its first eight bytes, which are returned. The bytes after the payload are
// zero already.
uint64_t FillFrame(SharedSegment& segment, uint64_t offset, const FrameFields& fields,
                   const PayloadParts& payload) {
  uint8_t header[kFrameHeaderBytes];
  const uint32_t crc = BeginFrameHeader(fields, segment.crc_seed(), header);
  const auto& [head, rest] = payload;
  uint8_t* const to = segment.At(offset + kFrameHeaderBytes);
  const uint32_t head_crc = CopyAndCrc32c(crc, to, head.data, head.size);
  SealFrameHeader(header, CopyAndCrc32c(head_crc, to + head.size, rest.data, rest.size));
  AtStep(Step::kPayloadStored);
  segment.StoreHeaderRest(offset, header);
  return Load64(header);
}

}  // namespace

Status SharedLog::CheckOpen() const {
  if (latched_) return LatchedError();
  if (closing_) return Status::Error(Code::kClosed, "the log is closed");
  return Status::Ok();
}

Status SharedLog::CheckAppend(Bytes payload) const {
  DURLOG_RETURN_IF_ERROR(CheckOpen());
  return CheckRecord(payload.size, options_);
}

// A group larger than the bound is accepted if nothing else is pending.
Status SharedLog::CheckRoom(uint64_t frame_bytes) {
  if (pending_bytes() == 0 || pending_bytes() + frame_bytes <= options_.max_pending_bytes) {
    return Status::Ok();
  }
  Pump();
  return Status::Error(Code::kBackpressure,
                       std::to_string(pending_bytes()) + " bytes wait to be committed");
}

// Sets frame_time_ms_ for a record at the append point. False if the clock's time is too late for
// the segment, which must be sealed. A time of the caller that the segment cannot hold is an error:
// the other members append to the segment too.
Result<bool> SharedLog::SetFrameTime(uint64_t time_ms) {
  if (clock_.Tick()) CheckFiles();  // also for a caller that never returns to its event loop
  if (latched_) return LatchedError();
  const bool exact = time_ms != kClockTime;
  const uint64_t record_ms = exact ? time_ms : clock_.now_ms();
  const SharedSegment& segment = *append_->point().segment;
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
  const uint32_t newest = member_->page().RaiseTime(segment.first_seq(), time);
  frame_time_ms_ = exact ? time : newest;
  return true;
}

// Reserves a place, which belongs to this member until it publishes the frame or dies. On failure,
// nothing has been reserved.
Result<SharedLog::Place> SharedLog::Reserve(uint64_t frame_bytes, uint64_t seqs, uint64_t time_ms,
                                            uint64_t expected_seq) {
  const LogPoint& point = append_->point();
  for (;;) {
    DURLOG_RETURN_IF_ERROR(CatchUp());
    if (expected_seq != kAnySeq) DURLOG_RETURN_IF_ERROR(CheckExpectedSeq(expected_seq, point.seq));
    if (!HasSeqs(seqs, point.seq)) return SeqsUsedUp();
    if (append_->stop().kind == StepKind::kEnd) {
      DURLOG_RETURN_IF_ERROR(MakeNext());
      continue;
    }
    SharedSegment& segment = *point.segment;
    if (point.offset + frame_bytes > segment.bytes()) {
      DURLOG_RETURN_IF_ERROR(Seal(SealReason::kFull));
      continue;
    }
    // Must come after CatchUp() and before the reservation: see MembersPage::RaiseTime().
    DURLOG_ASSIGN_OR_RETURN(const bool fits, SetFrameTime(time_ms));
    if (!fits) {
      DURLOG_RETURN_IF_ERROR(Seal(SealReason::kTime));
      continue;
    }
    AtStep(Step::kBeforeReserve);
    uint64_t free = 0;
    if (!segment.WordAt(point.offset)
             .compare_exchange_strong(free, ReservedWord(frame_bytes, seqs, member_->slot()),
                                      std::memory_order_acq_rel, std::memory_order_relaxed)) {
      continue;
    }
    AtStep(Step::kReserved);
    if (segment.faulted()) {
      // The reservation may be visible only to this process.
      Latch(FaultedPoint(*member_, point));
      return LatchedError();
    }
    Place place{point.offset, point.seq, {StepKind::kWhole, frame_bytes, seqs, 0}};
    append_->Pass(place.step);
    return place;
  }
}

FrameFields SharedLog::FieldsOf(uint64_t seq, size_t payload_bytes) const {
  FrameFields fields;
  fields.state = FrameState::kCommitted;
  fields.length = static_cast<uint32_t>(payload_bytes);
  fields.seq = seq;
  // Limited to `seq`, because no later record can be synced before this one is committed.
  const uint64_t synced = std::min(member_->page().Load(PageWord::kSyncedEnd), seq);
  fields.unsynced = static_cast<uint32_t>(std::min<uint64_t>(seq - synced, UINT32_MAX));
  fields.time_ms = frame_time_ms_;
  return fields;
}

// Does not publish the frame if a page was lost: the other members would not see its bytes.
Status SharedLog::Publish(const Place& place, uint64_t first_word) {
  SharedSegment& segment = *append_->point().segment;
  AtStep(Step::kHeaderStored);
  if (!segment.faulted()) {
    segment.WordAt(place.offset).store(first_word, std::memory_order_release);
  }
  if (segment.faulted()) {
    LogPoint at = append_->point();
    at.offset = place.offset;
    Latch(FaultedPoint(*member_, at));
    return LatchedError();
  }
  AtStep(Step::kPublished);
  return Status::Ok();
}

// A failure of the walk is reported by the job that waits for the record, because the caller has no
// promise yet that could be rejected.
void SharedLog::NoteAppended(const Place& place, Level level) {
  const LogPoint& point = append_->point();
  if (committed_->IsAt(*point.segment, place.offset)) {
    committed_->Pass(place.step);
    member_->live().RaiseMemoryEnd(point.seq);
  } else {
    static_cast<void>(committed_->Advance().ok());
  }
  RaiseReached();
  acks_.Want(level, point.seq);
  own_end_ = point.seq;
  if (level > Level::kMemory) pending_bytes_ += place.step.bytes;
  stretch_.own_bytes += place.step.bytes;
  if (point.offset > point.segment->bytes() / 8) RequestSpare(false);
  PopulateAhead();
}

DURLOG_INLINE_CALLS Result<uint64_t> SharedLog::Append(Bytes payload, Level level, uint64_t time_ms,
                                                       uint64_t expected_seq) {
  SyncEagerly();
  DURLOG_RETURN_IF_ERROR(CheckAppend(payload));
  const uint64_t frame_bytes = FrameBytes(payload.size);
  DURLOG_RETURN_IF_ERROR(CheckRoom(frame_bytes));
  DURLOG_ASSIGN_OR_RETURN(const Place place, Reserve(frame_bytes, 1, time_ms, expected_seq));
  const uint64_t word = FillFrame(*append_->point().segment, place.offset,
                                  FieldsOf(place.seq, payload.size), payload);
  DURLOG_RETURN_IF_ERROR(Publish(place, word));
  NoteAppended(place, level);
  return place.seq;
}

Result<uint64_t> SharedLog::CheckBatch(const PayloadParts* payloads, size_t count) const {
  DURLOG_RETURN_IF_ERROR(CheckOpen());
  DURLOG_ASSIGN_OR_RETURN(const uint64_t frame_bytes, BatchBytes(payloads, count, options_));
  if (frame_bytes > kMaxReservedBytes || count > kMaxReservedSeqs) {
    return Status::Error(Code::kBatchTooLarge, "the batch takes " + std::to_string(frame_bytes) +
                                                   " bytes in " + std::to_string(count) +
                                                   " records, and may take " +
                                                   std::to_string(kMaxReservedBytes) + " in " +
                                                   std::to_string(kMaxReservedSeqs));
  }
  return frame_bytes;
}

// The batch is one reservation, and its first frame is published last.
Result<uint64_t> SharedLog::AppendBatch(const PayloadParts* payloads, size_t count, Level level,
                                        uint64_t time_ms, uint64_t expected_seq) {
  SyncEagerly();
  DURLOG_ASSIGN_OR_RETURN(const uint64_t frame_bytes, CheckBatch(payloads, count));
  DURLOG_RETURN_IF_ERROR(CheckRoom(frame_bytes));
  DURLOG_ASSIGN_OR_RETURN(const Place place, Reserve(frame_bytes, count, time_ms, expected_seq));
  SharedSegment& segment = *append_->point().segment;
  uint64_t first_word = 0;
  uint64_t offset = place.offset;
  for (size_t i = 0; i < count; ++i) {
    FrameFields fields = FieldsOf(place.seq + i, payloads[i].size());
    fields.batch_continues = i + 1 < count;
    const uint64_t word = FillFrame(segment, offset, fields, payloads[i]);
    if (i == 0) {
      first_word = word;
    } else {
      segment.WordAt(offset).store(word, std::memory_order_relaxed);
    }
    offset += fields.frame_bytes();
  }
  AtStep(Step::kBatchStored);
  DURLOG_RETURN_IF_ERROR(Publish(place, first_word));
  NoteAppended(place, level);
  return place.seq;
}

// On success, the level is reached. Fails if another member delays the records below `end` for too
// long, or if a sync fails.
Status SharedLog::AwaitHere(uint64_t end, Level level) {
  while (ReachedEnd(level) < end) {
    ReachJob job(member_, committed_->point(), end, level, options_.stall_ms);
    job.RunOnce();
    committed_->MoveTo(job.point());
    if (!job.status().ok()) NoteFailure(job.status());
    Refresh();
    // Once another member has latched the log, no member syncs.
    NoteLatchOfOthers();
    // The record is stored, but it is not known whether it will remain.
    if (latched_) return failure_;
    if (!job.status().ok()) return job.status();
    if (job.stall()) return StallError(*job.stall());
  }
  return Status::Ok();
}

// For records that this call has stored. If it fails, they may still reach the level later.
Status SharedLog::AwaitStored(uint64_t end, Level level) {
  Status reached = AwaitHere(end, level);
  if (!reached.ok()) return std::move(reached).WithStored();
  return reached;
}

// Waits for the next segment's file or for a sync, for at most stall_ms.
template <typename AppendOnce>
Result<uint64_t> SharedLog::AppendAwaitingRoom(const AppendOnce& append) {
  std::optional<uint64_t> waits_since;
  for (;;) {
    Result<uint64_t> appended = append();
    if (appended.status().code() != Code::kBackpressure) return appended;
    const uint64_t now = member_->file_system().MonotonicMicros();
    if (!waits_since) waits_since = now;
    if (now - *waits_since > uint64_t{options_.stall_ms} * 1000) return appended;
    Pump();
    if (spare_job_) spare_job_->Await();
    if (sync_job_) sync_job_->Await();
    Harvest();
  }
}

Result<uint64_t> SharedLog::Write(Bytes payload) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t seq,
                          AppendAwaitingRoom([&] { return Append(payload, Level::kMemory); }));
  if (ReachedEnd(Level::kMemory) <= seq) {
    DURLOG_RETURN_IF_ERROR(AwaitStored(seq + 1, Level::kMemory));
  }
  return seq;
}

Result<uint64_t> SharedLog::WriteBatch(const PayloadParts* payloads, size_t count) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t seq, AppendAwaitingRoom([&] {
                            return AppendBatch(payloads, count, Level::kMemory);
                          }));
  DURLOG_RETURN_IF_ERROR(AwaitStored(seq + count, Level::kMemory));
  return seq;
}

Result<uint64_t> SharedLog::AppendSync(Bytes payload, Level level, uint64_t time_ms) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t seq,
                          AppendAwaitingRoom([&] { return Append(payload, level, time_ms); }));
  DURLOG_RETURN_IF_ERROR(AwaitStored(seq + 1, level));
  return seq;
}

}  // namespace durlog
