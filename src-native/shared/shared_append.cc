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

Status SharedLog::CheckAppend(Bytes payload) const {
  DURLOG_RETURN_IF_ERROR(state_.CheckOpen());
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

void SharedLog::SyncEagerly() {
  if (!commits_.BeginsEarly()) return;
  Harvest();
  Pump();
}

// Moves the append point past all reservations. If the committed point was at the same place, it
// moves too, so that each frame is read only once.
Status SharedLog::CatchUp() {
  DURLOG_RETURN_IF_ERROR(commits_.CheckLatch());
  const LogPoint& point = point_.at();
  const bool together = commits_.IsAt(point);
  const uint64_t before = point.offset;
  Status caught_up = point_.CatchUp();
  if (!caught_up.ok()) return commits_.Fail(std::move(caught_up));
  if (point.segment != pages_.segment()) {
    NoteEntered();
  } else if (together && point.offset != before && !point_.passed_reserved()) {
    commits_.MoveTo(point);
  }
  return Status::Ok();
}

void SharedLog::NoteEntered() {
  const LogPoint& point = point_.at();
  pages_.Enter(point, commits_.count());
  if (listener_ == nullptr) return;
  ++rotations_;
  listener_->OnRotated(point.segment->first_seq());
}

// Called with the append point at the end of a sealed segment. After success, the next segment has
// its name, and CatchUp() enters it.
Status SharedLog::MakeNext() {
  const uint64_t next = point_.at().seq;
  if (member_->page().Load(PageWord::kActiveFirst) >= next) return Status::Ok();
  // A sealed segment is synced soon, whatever levels were requested.
  commits_.Want(Level::kSync, next);
  if (rotation_.TooMuchUnsynced()) {
    Pump();
    return Status::Error(Code::kBackpressure, "segments wait for the device");
  }
  return rotation_.Rotate(point_.at().segment->first_seq(), next);
}

// On failure, nothing has been reserved.
Status SharedLog::Reserve(uint64_t frame_bytes, uint64_t seqs, uint64_t time_ms,
                          uint64_t expected_seq, Place* place) {
  // Also for a caller that never returns to its event loop.
  if (point_.clock().Tick()) CheckFiles();
  const LogPoint& point = point_.at();
  for (;;) {
    DURLOG_RETURN_IF_ERROR(CatchUp());
    if (expected_seq != kAnySeq) DURLOG_RETURN_IF_ERROR(CheckExpectedSeq(expected_seq, point.seq));
    if (!HasSeqs(seqs, point.seq)) return SeqsUsedUp();
    if (point_.at_segment_end()) {
      DURLOG_RETURN_IF_ERROR(MakeNext());
      continue;
    }
    Result<bool> reserved = point_.TryReserve(frame_bytes, seqs, time_ms, place);
    if (!reserved.ok()) return commits_.Fail(reserved.TakeStatus());
    if (*reserved) return Status::Ok();
  }
}

// Makes the frames visible, and counts them.
Status SharedLog::Publish(const Place& place, uint64_t first_word, Level level) {
  Status published = point_.Publish(place, first_word);
  if (!published.ok()) return commits_.Fail(std::move(published));
  commits_.NoteAppended(place, level);
  const LogPoint& end = point_.at();
  if (end.offset > end.segment->bytes() / 8) rotation_.Prepare(end.segment->first_seq());
  pages_.NoteAppended(end, place.step.bytes, commits_.count());
  return Status::Ok();
}

DURLOG_INLINE_CALLS Result<uint64_t> SharedLog::Append(Bytes payload, Level level, uint64_t time_ms,
                                                       uint64_t expected_seq) {
  SyncEagerly();
  DURLOG_RETURN_IF_ERROR(CheckAppend(payload));
  const uint64_t frame_bytes = FrameBytes(payload.size);
  DURLOG_RETURN_IF_ERROR(CheckRoom(frame_bytes));
  Place place;
  DURLOG_RETURN_IF_ERROR(Reserve(frame_bytes, 1, time_ms, expected_seq, &place));
  const uint64_t word = FillFrame(*point_.at().segment, place.offset,
                                  point_.Fields(place.seq, payload.size), payload);
  DURLOG_RETURN_IF_ERROR(Publish(place, word, level));
  return place.seq;
}

Result<uint64_t> SharedLog::CheckBatch(const PayloadParts* payloads, size_t count) const {
  DURLOG_RETURN_IF_ERROR(state_.CheckOpen());
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
  Place place;
  DURLOG_RETURN_IF_ERROR(Reserve(frame_bytes, count, time_ms, expected_seq, &place));
  SharedSegment& segment = *point_.at().segment;
  uint64_t first_word = 0;
  uint64_t offset = place.offset;
  for (size_t i = 0; i < count; ++i) {
    FrameFields fields = point_.Fields(place.seq + i, payloads[i].size());
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
  DURLOG_RETURN_IF_ERROR(Publish(place, first_word, level));
  return place.seq;
}

// For records that this call has stored. If it fails, they may still reach the level later.
Status SharedLog::AwaitStored(uint64_t end, Level level) {
  Status reached = commits_.AwaitLevel(end, level);
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
    rotation_.AwaitSpare();
    commits_.AwaitSync();
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
