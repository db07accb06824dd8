// Appending: from a payload to a frame at the append point. group_commit.cc commits the frames.
#include <algorithm>
#include <string>
#include <utility>

#include "base/inline_calls.h"
#include "log/log.h"
#include "read/position_index.h"

namespace durlog {
namespace {

Status BackpressureError(std::string reason) {
  return Status::Error(Code::kBackpressure, std::move(reason));
}

Status RolledBackError() { return BackpressureError("a commit failed and was rolled back"); }

}  // namespace

Status Log::LatchedError() {
  return Status::Error(Code::kLatched,
                       "an earlier sync failed and what is on the device is not known: close the "
                       "log and open it again");
}

// Every append passes here; error details are built in CheckAppend().
bool Log::Takes(Bytes payload) const {
  return !latched_ && !closing_ && !exclusive_ && payload.size > 0 &&
         payload.size <= options_.max_record_bytes;
}

Status Log::CheckOpen() const {
  if (latched_) return LatchedError();
  if (closing_) return Status::Error(Code::kClosed, "the log is closed");
  return Status::Ok();
}

// Only that job may use the files.
Status Log::CheckExclusiveJob() const {
  if (exclusive_) return BackpressureError("a truncation or a rotation is running");
  return Status::Ok();
}

Status Log::CheckAppend(Bytes payload) const {
  DURLOG_RETURN_IF_ERROR(CheckOpen());
  DURLOG_RETURN_IF_ERROR(CheckRecord(payload, options_));
  return CheckExclusiveJob();
}

void Log::SetRecordTime(uint64_t time_ms) {
  if (clock_.Tick()) live_.CheckStores();
  exact_time_ = time_ms != kClockTime;
  record_ms_ = exact_time_ ? time_ms : clock_.now_ms();
}

// Whether the next record may follow a record of `last_time_ms` in a segment of that base time. If
// the clock was set back, it is ignored: the record gets the time of the previous one.
bool Log::TakesRecordTime(uint64_t base_time_ms, uint32_t last_time_ms) const {
  if (record_ms_ < base_time_ms) return !exact_time_;
  const uint64_t elapsed_ms = record_ms_ - base_time_ms;
  if (elapsed_ms < last_time_ms) return !exact_time_;
  return elapsed_ms <= UINT32_MAX;
}

// After success, `frame_bytes` fit into the active segment, and frame_time_ms_ is set for the
// frames.
Status Log::MakeRoom(uint64_t frame_bytes, uint64_t time_ms) {
  // A group larger than the bound is accepted if nothing else is pending.
  if (staging_.pending_bytes() > 0 &&
      staging_.pending_bytes() + frame_bytes > options_.max_pending_bytes) {
    return BackpressureError(std::to_string(staging_.pending_bytes()) +
                             " bytes wait to be committed, and maxPendingBytes is " +
                             std::to_string(options_.max_pending_bytes));
  }
  SetRecordTime(time_ms);
  const bool rotates = append_offset_ + frame_bytes > active_->bytes() ||
                       !TakesRecordTime(active_->header().base_time_ms, last_time_ms_);
  const bool stages = mode_ != WriteMode::kMmap;
  if (stages) {
    DURLOG_RETURN_IF_ERROR(staging_.Reserve(rotates ? nullptr : active_.get(), frame_bytes));
  }
  if (rotates) DURLOG_RETURN_IF_ERROR(Rotate(frame_bytes));
  if (mode_ == WriteMode::kMmap && !tail_) {
    DURLOG_RETURN_IF_ERROR(EnsureMapped());
  }
  // Rotate() may have left the map.
  if (!stages && mode_ != WriteMode::kMmap) {
    DURLOG_RETURN_IF_ERROR(staging_.Reserve(active_.get(), frame_bytes));
  }
  // The clock may be set back; the log's times never go back within a segment.
  const uint64_t base_ms = active_->header().base_time_ms;
  const uint64_t elapsed_ms = record_ms_ > base_ms ? record_ms_ - base_ms : 0;
  frame_time_ms_ = std::max(last_time_ms_, static_cast<uint32_t>(elapsed_ms));
  return Status::Ok();
}

FrameFields Log::NextFields(size_t payload_bytes) {
  FrameFields fields;
  fields.state = FrameState::kCommitted;
  fields.length = static_cast<uint32_t>(payload_bytes);
  fields.seq = next_seq_;
  // The value is bounded, because only a few segments may be unsynced.
  fields.unsynced = static_cast<uint32_t>(next_seq_ - acks_.synced_end());
  fields.time_ms = frame_time_ms_;
  return fields;
}

// Commits a large group before the end of its turn, so that the next group is framed while the
// device writes this one. Called before an append and not after it, because Harvest() may find that
// a commit was rolled back.
void Log::CommitEagerly() {
  if (staging_.group_bytes() < eager_size_.bytes() || (commit_ && !commit_->done())) return;
  Harvest();
  Pump();
}

DURLOG_INLINE_CALLS Result<uint64_t> Log::Append(Bytes payload, Level level, uint64_t time_ms,
                                                 uint64_t expected_seq) {
  const uint64_t rollbacks = rollbacks_;
  CommitEagerly();
  // Nothing may be appended after a lost record: see Append() in log.h.
  if (rollbacks_ != rollbacks) return RolledBackError();
  if (!Takes(payload)) return CheckAppend(payload);
  if (expected_seq != kAnySeq) DURLOG_RETURN_IF_ERROR(CheckExpectedSeq(expected_seq, next_seq_));
  const uint64_t frame_bytes = FrameBytes(payload.size);
  // The log is idle and the append wants memory: change to the map now, where memory is fast.
  if (level < Level::kSync && mode_ == WriteMode::kDirect && policy_.EntersMap() && !commit_ &&
      staging_.empty()) {
    DURLOG_RETURN_IF_ERROR(EnsureMapped());
  }
  DURLOG_RETURN_IF_ERROR(MakeRoom(frame_bytes, time_ms));
  const uint64_t seq = next_seq_;
  DURLOG_RETURN_IF_ERROR(StoreFrame(NextFields(payload.size), payload));
  NoteAppended(frame_bytes, 1, level);
  return seq;
}

void Log::NoteAppended(uint64_t frame_bytes, uint64_t records, Level level) {
  next_seq_ += records;
  stats_.appended_records += records;
  stats_.appended_bytes += frame_bytes;
  last_time_ms_ = frame_time_ms_;
  end_marked_ = false;
  if (append_offset_ >= note_from_) NotePosition();
  if (append_offset_ > policy_.SpareDueAt(mode_, active_->bytes())) RequestSpare(0);
  policy_.NoteRecords(level, records);
  if (mode_ == WriteMode::kMmap) {
    acks_.Reach(Level::kMemory, next_seq_);
    live_.StoreMemoryEnd(next_seq_);
    if (level == Level::kMemory) return;
  }
  staging_.Count(frame_bytes);
  acks_.Want(level, next_seq_);
}

// Notes a position from which a reader that looks for a later record can start. No batch is open
// here, and no reader asks for the next record before it is appended.
void Log::NotePosition() {
  PositionIndex::Shared().Note(active_->header().salt, {next_seq_, append_offset_});
  note_from_ = append_offset_ + PositionIndex::kSpacingBytes;
}

// Notes positions inside a batch whose frames begin at `offset`.
void Log::NotePositionsInside(const Bytes* payloads, size_t count, uint64_t offset) {
  uint64_t note_from = offset + PositionIndex::kSpacingBytes;
  for (size_t i = 0; i < count; ++i) {
    if (offset >= note_from) {
      PositionIndex::Shared().Note(active_->header().salt, {next_seq_ + i, offset},
                                   PositionIndex::Place::kInsideBatch);
      note_from = offset + PositionIndex::kSpacingBytes;
    }
    offset += FrameBytes(payloads[i].size);
  }
}

Status Log::StoreFrame(const FrameFields& fields, Bytes payload) {
  return mode_ == WriteMode::kMmap ? StoreMapped(fields, payload, true)
                                   : StageFrame(fields, payload);
}

// Stores the first word last: a process that dies before that leaves free space.
Status Log::StoreMapped(const FrameFields& fields, Bytes payload, bool publish) {
  const uint64_t at = append_offset_;
  const uint64_t frame_bytes = fields.frame_bytes();
  uint8_t header[kFrameHeaderBytes];
  const uint32_t crc = BeginFrameHeader(fields, active_->crc_seed(), header);
  if (frame_bytes > tail_->window_bytes()) {
    DURLOG_RETURN_IF_ERROR(WriteAround(at, header, crc, payload, publish));
  } else {
    Status mapped = tail_->Ensure(at, frame_bytes);
    if (!mapped.ok()) {
      // Nothing was stored. The next append maps the file again.
      tail_.reset();
      return mapped;
    }
    SealFrameHeader(header,
                    tail_->StoreWithCrc(at + kFrameHeaderBytes, payload.data, payload.size, crc));
    tail_->Store(at + kWordBytes, header + kWordBytes, kFrameHeaderBytes - kWordBytes);
    if (publish) tail_->Publish(at, Load32(header));
    if (tail_->faulted()) {
      Status fault = Status::Error(Code::kIo,
                                   "a mapped page could not be written (the file was cut, the disk "
                                   "is full or failing)")
                         .WithPath(directory_->path() + "/" + active_->name())
                         .WithOffset(at);
      Latch(fault, next_seq_, next_seq_);
      return failure_;
    }
  }
  append_offset_ = at + frame_bytes;
  backlog_.MarkDirty(active_, at, append_offset_);
  return Status::Ok();
}

Status Log::StageFrame(const FrameFields& fields, Bytes payload) {
  DURLOG_RETURN_IF_ERROR(
      staging_.Stage(active_, append_offset_, mode_ == WriteMode::kDirect, fields, payload));
  append_offset_ += fields.frame_bytes();
  return Status::Ok();
}

// Returns the size of the batch's frames.
Result<uint64_t> Log::CheckBatch(const Bytes* payloads, size_t count) const {
  DURLOG_RETURN_IF_ERROR(CheckOpen());
  DURLOG_ASSIGN_OR_RETURN(const uint64_t frame_bytes, BatchBytes(payloads, count, options_));
  DURLOG_RETURN_IF_ERROR(CheckExclusiveJob());
  return frame_bytes;
}

Result<uint64_t> Log::AppendBatch(const Bytes* payloads, size_t count, Level level,
                                  uint64_t time_ms, uint64_t expected_seq) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t frame_bytes, CheckBatch(payloads, count));
  if (expected_seq != kAnySeq) DURLOG_RETURN_IF_ERROR(CheckExpectedSeq(expected_seq, next_seq_));
  DURLOG_RETURN_IF_ERROR(MakeRoom(frame_bytes, time_ms));
  const uint64_t first_seq = next_seq_;
  if (mode_ == WriteMode::kMmap) {
    DURLOG_RETURN_IF_ERROR(StoreMappedBatch(payloads, count));
  } else {
    for (size_t i = 0; i < count; ++i) {
      FrameFields fields = NextFields(payloads[i].size);
      fields.seq += i;
      fields.unsynced += static_cast<uint32_t>(i);
      fields.batch_continues = i + 1 < count;
      DURLOG_RETURN_IF_ERROR(StageFrame(fields, payloads[i]));
    }
  }
  if (frame_bytes > PositionIndex::kSpacingBytes) {
    NotePositionsInside(payloads, count, append_offset_ - frame_bytes);
  }
  NoteAppended(frame_bytes, count, level);
  return first_seq;
}

// Waits for a spare if the append needs one: preallocation is quick, and the caller waits anyway.
template <typename AppendOnce>
Result<uint64_t> Log::AppendAwaitingSpare(const AppendOnce& append) {
  const uint64_t rollbacks = rollbacks_;
  Result<uint64_t> appended = append();
  // This caller did not wait for the appends that failed, so its record may follow the rollback.
  if (!appended.ok() && rollbacks_ != rollbacks) appended = append();
  if (appended.ok() || !chain_.AwaitSpare()) return appended;
  return append();
}

// `append` appends at kMemory.
template <typename AppendOnce>
Result<uint64_t> Log::WriteWith(const AppendOnce& append) {
  if (mode_ != WriteMode::kMmap && policy_.EntersMap()) {
    // Earlier records that are staged or being committed must be in memory before this one.
    if (next_seq_ > 0) DURLOG_RETURN_IF_ERROR(AwaitLevel(next_seq_ - 1, Level::kMemory));
    DURLOG_RETURN_IF_ERROR(EnsureMapped());
  }
  DURLOG_ASSIGN_OR_RETURN(const uint64_t seq, AppendAwaitingSpare(append));
  if (acks_.memory_end() < next_seq_) {
    DURLOG_RETURN_IF_ERROR(AwaitLevel(next_seq_ - 1, Level::kMemory));
  }
  return seq;
}

DURLOG_INLINE_CALLS Result<uint64_t> Log::Write(Bytes payload) {
  if (!Takes(payload)) return CheckAppend(payload);
  return WriteWith([&] { return Append(payload, Level::kMemory); });
}

Result<uint64_t> Log::WriteBatch(const Bytes* payloads, size_t count) {
  const Result<uint64_t> checked = CheckBatch(payloads, count);
  if (!checked.ok()) return checked;
  return WriteWith([&] { return AppendBatch(payloads, count, Level::kMemory); });
}

Result<uint64_t> Log::AppendSync(Bytes payload, Level level, uint64_t time_ms) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t seq,
                          AppendAwaitingSpare([&] { return Append(payload, level, time_ms); }));
  DURLOG_RETURN_IF_ERROR(AwaitLevel(seq, level));
  return seq;
}

Result<uint64_t> Log::AppendVoid(uint64_t seqs, uint64_t time_ms) {
  DURLOG_RETURN_IF_ERROR(CheckOpen());
  DURLOG_RETURN_IF_ERROR(CheckExclusiveJob());
  if (seqs == 0 || seqs > kMaxVoidSeqs || options_.restored.uuid == LogUuid{}) {
    return Status::Error(Code::kInvalidArgument,
                         "only a log that is restored takes seqs without "
                         "a record, at most 1024 at a time");
  }
  const uint64_t frame_bytes = seqs * kMinRecordFrameBytes;
  DURLOG_RETURN_IF_ERROR(MakeRoom(frame_bytes, time_ms));
  const uint64_t seq = next_seq_;
  FrameFields fields;
  fields.state = FrameState::kVoid;
  fields.length = static_cast<uint32_t>(frame_bytes - kFrameHeaderBytes);
  fields.seq = seq;
  fields.unsynced = static_cast<uint32_t>(seqs);
  DURLOG_RETURN_IF_ERROR(StoreFrame(fields, Bytes{}));
  NoteAppended(frame_bytes, seqs, Level::kMemory);
  stats_.appended_records -= seqs;
  return seq;
}

Result<uint64_t> Log::WriteVoid(uint64_t seqs, uint64_t time_ms) {
  return WriteWith([&] { return AppendVoid(seqs, time_ms); });
}

// Appends a frame without a record, which marks that every earlier record is on the device.
Status Log::AppendMarker() {
  if (append_offset_ + kFrameHeaderBytes > active_->bytes()) return Status::Ok();
  if (mode_ == WriteMode::kMmap && !tail_) DURLOG_RETURN_IF_ERROR(EnsureMapped());
  if (mode_ != WriteMode::kMmap) {
    DURLOG_RETURN_IF_ERROR(staging_.Reserve(active_.get(), kFrameHeaderBytes));
  }
  FrameFields fields = NextFields(0);
  fields.state = FrameState::kMarker;
  fields.time_ms = last_time_ms_;
  return StoreFrame(fields, Bytes{});
}

}  // namespace durlog
