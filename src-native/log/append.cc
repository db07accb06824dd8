// Appending: from a payload to a frame at the append point. CommitCycle commits the frames.
#include <string>
#include <utility>

#include "base/inline_calls.h"
#include "log/log.h"

namespace durlog {

// Runs for every append; CheckAppend() builds the errors.
bool Log::Accepts(Bytes payload) const {
  return state_.accepts_appends() && payload.size > 0 && payload.size <= options_.max_record_bytes;
}

Status Log::CheckAppend(Bytes payload) const {
  DURLOG_RETURN_IF_ERROR(state_.CheckOpen());
  DURLOG_RETURN_IF_ERROR(CheckRecord(payload.size, options_));
  return state_.CheckFree();
}

// Returns the size of the batch's frames.
Result<uint64_t> Log::CheckBatch(const PayloadParts* payloads, size_t count) const {
  DURLOG_RETURN_IF_ERROR(state_.CheckOpen());
  DURLOG_ASSIGN_OR_RETURN(const uint64_t frame_bytes, BatchBytes(payloads, count, options_));
  DURLOG_RETURN_IF_ERROR(state_.CheckFree());
  return frame_bytes;
}

// Commits a large group before the end of its turn. Called before an append, not after it, because
// Harvest() may find that a commit was rolled back.
void Log::CommitEagerly() {
  if (!commits_.BeginsEarly(point_.group_bytes())) return;
  Harvest();
  Pump();
}

// A group larger than the bound is accepted if nothing else is pending.
bool Log::ExceedsPending(uint64_t frame_bytes) const {
  return pending_bytes() > 0 && pending_bytes() + frame_bytes > options_.max_pending_bytes;
}

bool Log::HasRoom() const {
  if (latched()) return true;  // the next append fails for another reason
  if (ExceedsPending(refused_bytes_)) return false;
  return point_.Fits(refused_bytes_) ||
         !(point_.TooMuchUnsynced() || (point_.maps() && chain_.is_making_spare()));
}

// After success, the append point is ready for `frame_bytes` of frames with this time, which take
// `seqs` seqs.
Status Log::MakeRoom(uint64_t frame_bytes, uint64_t time_ms, uint64_t seqs) {
  if (!HasSeqs(seqs, next_seq())) return SeqsUsedUp();
  if (ExceedsPending(frame_bytes)) {
    refused_bytes_ = frame_bytes;
    return Status::Error(Code::kBackpressure, std::to_string(pending_bytes()) +
                                                  " bytes wait to be committed, and "
                                                  "maxPendingBytes is " +
                                                  std::to_string(options_.max_pending_bytes));
  }
  if (point_.time().Set(time_ms)) {
    live_.CheckStores();
    CheckFiles();  // also for a caller that never returns to its event loop
    if (latched()) return state_.LatchedError();
  }
  if (!point_.Fits(frame_bytes)) {
    refused_bytes_ = frame_bytes;
    DURLOG_RETURN_IF_ERROR(Rotate(frame_bytes));
  }
  return point_.Prepare(frame_bytes);
}

FrameFields Log::NextFields(size_t payload_bytes) {
  return point_.NextFields(payload_bytes, commits_.acks().synced_end());
}

DURLOG_INLINE_CALLS Result<uint64_t> Log::Append(Bytes payload, Level level, uint64_t time_ms,
                                                 uint64_t expected_seq) {
  const uint64_t rollbacks = commits_.rollbacks();
  CommitEagerly();
  // Nothing may be appended after a lost record: see Append() in log.h.
  if (commits_.rollbacks() != rollbacks) {
    return Status::Error(Code::kBackpressure, "a commit failed and was rolled back");
  }
  if (!Accepts(payload)) return CheckAppend(payload);
  if (expected_seq != kAnySeq) DURLOG_RETURN_IF_ERROR(CheckExpectedSeq(expected_seq, next_seq()));
  const uint64_t frame_bytes = FrameBytes(payload.size);
  // The log is idle and the append requests kMemory: change to the map now, because kMemory is fast
  // there.
  if (level < Level::kSync && point_.mode() == WriteMode::kDirect && policy_.EntersMap() &&
      !commits_.running() && !point_.has_staged()) {
    DURLOG_RETURN_IF_ERROR(commits_.EnterMap());
  }
  DURLOG_RETURN_IF_ERROR(MakeRoom(frame_bytes, time_ms, 1));
  const uint64_t seq = next_seq();
  Status stored = point_.Store(NextFields(payload.size), payload);
  if (!stored.ok()) return commits_.FailStore(std::move(stored));
  NoteAppended(frame_bytes, 1, level);
  return seq;
}

void Log::NoteAppended(uint64_t frame_bytes, uint64_t records, Level level) {
  point_.Advance(records);
  appended_records_ += records;
  appended_bytes_ += frame_bytes;
  // Not by the append that has begun the segment: if retention is late, the next one waits until
  // old segments are removed, and a spare would be a segment more than the limit of the bytes
  // allows.
  const bool begins = next_seq() - point_.segment()->first_seq() == records;
  if (!begins && point_.offset() > policy_.SpareDueAt(point_.mode(), point_.segment()->bytes())) {
    RequestSpare(0);
  }
  policy_.NoteRecords(level, records);
  commits_.NoteAppended();
  if (point_.maps()) {
    commits_.NoteStored(next_seq());
    live_.StoreMemoryEnd(next_seq());
    if (level == Level::kMemory) return;
  }
  point_.CountPending(frame_bytes);
  commits_.Want(level, next_seq());
}

Result<uint64_t> Log::AppendBatch(const PayloadParts* payloads, size_t count, Level level,
                                  uint64_t time_ms, uint64_t expected_seq) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t frame_bytes, CheckBatch(payloads, count));
  if (expected_seq != kAnySeq) DURLOG_RETURN_IF_ERROR(CheckExpectedSeq(expected_seq, next_seq()));
  DURLOG_RETURN_IF_ERROR(MakeRoom(frame_bytes, time_ms, count));
  const uint64_t first_seq = next_seq();
  Status stored = point_.StoreBatch(NextFields(payloads[0].size()), payloads, count, frame_bytes);
  if (!stored.ok()) return commits_.FailStore(std::move(stored));
  NoteAppended(frame_bytes, count, level);
  return first_seq;
}

// Waits for a spare if the append needs one: preallocation is quick, and the caller waits anyway.
template <typename AppendOnce>
Result<uint64_t> Log::AppendAwaitingSpare(const AppendOnce& append) {
  const uint64_t rollbacks = commits_.rollbacks();
  Result<uint64_t> appended = append();
  // This caller did not wait for the appends that failed, so its record may follow the rollback.
  if (!appended.ok() && commits_.rollbacks() != rollbacks) appended = append();
  if (appended.ok() || !chain_.AwaitSpare()) return appended;
  return append();
}

// `append` appends at kMemory.
template <typename AppendOnce>
Result<uint64_t> Log::WriteWith(const AppendOnce& append) {
  if (!point_.maps() && policy_.EntersMap()) {
    // Earlier records that are staged or being committed must be in memory before this one.
    DURLOG_RETURN_IF_ERROR(commits_.AwaitLevel(next_seq(), Level::kMemory));
    DURLOG_RETURN_IF_ERROR(commits_.EnterMap());
  }
  DURLOG_ASSIGN_OR_RETURN(const uint64_t seq, AppendAwaitingSpare(append));
  DURLOG_RETURN_IF_ERROR(commits_.AwaitLevel(next_seq(), Level::kMemory));
  return seq;
}

DURLOG_INLINE_CALLS Result<uint64_t> Log::Write(Bytes payload) {
  if (!Accepts(payload)) return CheckAppend(payload);
  return WriteWith([&] { return Append(payload, Level::kMemory); });
}

Result<uint64_t> Log::WriteBatch(const PayloadParts* payloads, size_t count) {
  const Result<uint64_t> checked = CheckBatch(payloads, count);
  if (!checked.ok()) return checked;
  return WriteWith([&] { return AppendBatch(payloads, count, Level::kMemory); });
}

Result<uint64_t> Log::AppendSync(Bytes payload, Level level, uint64_t time_ms) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t seq,
                          AppendAwaitingSpare([&] { return Append(payload, level, time_ms); }));
  DURLOG_RETURN_IF_ERROR(commits_.AwaitLevel(seq + 1, level));
  return seq;
}

Result<uint64_t> Log::AppendVoid(uint64_t seqs, uint64_t time_ms) {
  DURLOG_RETURN_IF_ERROR(state_.CheckOpen());
  if (seqs == 0 || seqs > kMaxVoidSeqs || options_.restored.uuid == LogUuid{}) {
    return Status::Error(Code::kInvalidArgument,
                         "only a log that is restored takes seqs without "
                         "a record, at most 1024 at a time");
  }
  const uint64_t frame_bytes = seqs * kMinRecordFrameBytes;
  DURLOG_RETURN_IF_ERROR(MakeRoom(frame_bytes, time_ms, seqs));
  const uint64_t seq = next_seq();
  FrameFields fields = NextFields(static_cast<size_t>(frame_bytes) - kFrameHeaderBytes);
  fields.state = FrameState::kVoid;
  fields.unsynced = static_cast<uint32_t>(seqs);
  // Every byte of a void follows from its length and its seqs.
  fields.time_ms = 0;
  Status stored = point_.Store(fields, Bytes{});
  if (!stored.ok()) return commits_.FailStore(std::move(stored));
  NoteAppended(frame_bytes, seqs, Level::kMemory);
  appended_records_ -= seqs;
  return seq;
}

Result<uint64_t> Log::WriteVoid(uint64_t seqs, uint64_t time_ms) {
  DURLOG_RETURN_IF_ERROR(state_.CheckFree());
  return WriteWith([&] { return AppendVoid(seqs, time_ms); });
}

}  // namespace durlog
