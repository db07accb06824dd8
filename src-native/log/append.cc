// Appending: from a payload to a frame at the append point.
#include <algorithm>

#include "base/flatten.h"
#include "log/log.h"
#include "read/position_index.h"
#include "segment/cut.h"

namespace durlog {
namespace {

// A word of zero is free space, so a frame that is being stored is invisible until its word is.
constexpr size_t kWordBytes = 4;

// What is written past the map is copied in steps of this size, as its checksum must be that of
// the bytes that are written.
constexpr size_t kCopyStepBytes = 1 << 20;

// The clock is read for the first append after a Pump(), and then for every so many: a turn of the
// event loop is a moment, and reading the clock costs as much as a checksum.
constexpr uint32_t kAppendsPerClockRead = 16;

Status BackpressureError() {
  return Status::Error(Code::kBackpressure, "too much is waiting to be committed");
}

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

Status Log::CheckAppend(Bytes payload) const {
  if (latched_) return LatchedError();
  if (closing_) return Status::Error(Code::kClosed, "the log is closed");
  if (payload.size == 0) {
    return Status::Error(Code::kRecordEmpty, "a record has at least one byte");
  }
  if (payload.size > options_.max_record_bytes) {
    return Status::Error(Code::kRecordTooLarge, "the record has " + std::to_string(payload.size) +
                                                    " bytes, maxRecordBytes is " +
                                                    std::to_string(options_.max_record_bytes));
  }
  // Before anything else is done: the files belong to the truncation.
  if (exclusive_) return BackpressureError();
  return Status::Ok();
}

void Log::SetRecordTime(uint64_t time_ms) {
  if (clock_credit_-- == 0) {
    clock_credit_ = kAppendsPerClockRead;
    now_ms_ = file_system_.NowMs();
    live_.CheckStores();
  }
  exact_time_ = time_ms != kClockTime;
  record_ms_ = exact_time_ ? time_ms : now_ms_;
}

// Whether the record at hand may follow one of `last_time_ms` in a segment of that base time. The
// clock may be set back, and then says nothing: the record gets the time of the one before it.
bool Log::TakesRecordTime(uint64_t base_time_ms, uint32_t last_time_ms) const {
  if (record_ms_ < base_time_ms) return !exact_time_;
  const uint64_t elapsed_ms = record_ms_ - base_time_ms;
  if (elapsed_ms < last_time_ms) return !exact_time_;
  return elapsed_ms <= UINT32_MAX;
}

// After this `frame_bytes` fit into the active segment, all of them, and last_time_ms_ is theirs.
Status Log::MakeRoom(uint64_t frame_bytes, uint64_t time_ms) {
  // One group larger than the bound is let through when it is alone.
  if (pending_bytes_ > 0 && pending_bytes_ + frame_bytes > options_.max_pending_bytes) {
    return BackpressureError();
  }
  SetRecordTime(time_ms);
  const bool rotates = append_offset_ + frame_bytes > active_->bytes() ||
                       !TakesRecordTime(active_->header().base_time_ms, last_time_ms_);
  const bool stages = mode_ != WriteMode::kMapped;
  if (stages) DURLOG_RETURN_IF_ERROR(ReserveStage(frame_bytes, rotates));
  if (rotates) DURLOG_RETURN_IF_ERROR(Rotate());
  if (mode_ == WriteMode::kMapped && !tail_) {
    DURLOG_RETURN_IF_ERROR(EnsureMapped());
  }
  // The map may have been left on the way.
  if (!stages && mode_ != WriteMode::kMapped) {
    DURLOG_RETURN_IF_ERROR(ReserveStage(frame_bytes, false));
  }
  // The clock may be set back; the log's times never go back within a segment.
  const uint64_t base_ms = active_->header().base_time_ms;
  const uint64_t elapsed_ms = record_ms_ > base_ms ? record_ms_ - base_ms : 0;
  last_time_ms_ = std::max(last_time_ms_, static_cast<uint32_t>(elapsed_ms));
  return Status::Ok();
}

FrameFields Log::NextFields(size_t payload_bytes) {
  FrameFields fields;
  fields.state = FrameState::kCommitted;
  fields.length = static_cast<uint32_t>(payload_bytes);
  fields.seq = next_seq_;
  // Bounded: no more than a few segments are ever unsynced.
  fields.unsynced = static_cast<uint32_t>(next_seq_ - acks_.synced_end());
  fields.time_ms = last_time_ms_;
  return fields;
}

// A large group does not wait for the end of its turn: while the device takes it the next one is
// framed. Before the append and not after it, as what is harvested may be that there was no room.
void Log::CommitEagerly() {
  if (filling_bytes_ < eager_commit_bytes_ || (commit_ && !commit_->done())) return;
  Harvest();
  Pump();
}

DURLOG_FLATTEN Result<uint64_t> Log::Append(Bytes payload, Level level, uint64_t time_ms) {
  const uint64_t rollbacks = rollbacks_;
  CommitEagerly();
  // Told before anything is appended after it: see Append() in log.h.
  if (rollbacks_ != rollbacks) return BackpressureError();
  if (!Takes(payload)) return CheckAppend(payload);
  const uint64_t frame_bytes = FrameBytes(payload.size);
  // Idle and about to be asked for memory: this is the moment to go where memory is fast.
  if (level < Level::kSync && mode_ == WriteMode::kDirect && ShouldMap() && !commit_ &&
      filling_.empty()) {
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
  end_marked_ = false;
  if (append_offset_ >= note_from_) NotePosition();
  // Long before it is needed, and not for a log that stays small. Stores into a map are the
  // fastest.
  const uint64_t due = active_->bytes() / (mode_ == WriteMode::kMapped ? 8 : 2);
  if (append_offset_ > due) RequestSpare();
  policy_.NoteRecords(level, records);
  if (mode_ == WriteMode::kMapped) {
    acks_.Reach(Level::kMemory, next_seq_);
    live_.StoreMemoryEnd(next_seq_);
    if (level == Level::kMemory) return;
  }
  filling_bytes_ += frame_bytes;
  pending_bytes_ += frame_bytes;
  acks_.Want(level, next_seq_);
}

// What is read by its seq later is found from here. No batch is open, and nobody asks for the
// record that comes next before it is there.
void Log::NotePosition() {
  PositionIndex::Shared().Note(active_->header().salt, {next_seq_, append_offset_});
  note_from_ = append_offset_ + PositionIndex::kSpacingBytes;
}

Status Log::StoreFrame(const FrameFields& fields, Bytes payload) {
  return mode_ == WriteMode::kMapped ? StoreMapped(fields, payload, true)
                                     : StageFrame(fields, payload);
}

void Log::MarkDirty(uint64_t begin, uint64_t end) {
  if (!dirty_.empty() && dirty_.back().segment == active_) {
    dirty_.back().end = end;
  } else {
    dirty_.push_back(DirtyRange{active_, begin, end});
  }
}

// Everything but the word, then the word: a process that dies in between leaves free space.
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
      // Nothing was stored; the next append maps anew, and may have more luck.
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
  MarkDirty(at, append_offset_);
  return Status::Ok();
}

// Faulting in so many pages costs more than a write; the map shows what is written here.
Status Log::WriteAround(uint64_t at, uint8_t* header, uint32_t crc, Bytes payload, bool publish) {
  AlignedBuffer copy;
  if (!copy.Reserve(kCopyStepBytes, 0)) {
    return Status::Error(Code::kOutOfMemory, "no memory to copy the record");
  }
  File& file = active_->file();
  // A worker that populates what is ahead would write its zeros over the frame.
  tail_->SkipTo(at + FrameBytes(payload.size));
  Status status;
  for (size_t done = 0; status.ok() && done < payload.size;) {
    const size_t step = std::min(kCopyStepBytes, payload.size - done);
    crc = CopyAndCrc32c(crc, copy.data(), payload.data + done, step);
    status = file.WriteAt(at + kFrameHeaderBytes + done, copy.data(), step);
    done += step;
  }
  SealFrameHeader(header, crc);
  if (status.ok()) {
    status = file.WriteAt(at + kWordBytes, header + kWordBytes, kFrameHeaderBytes - kWordBytes);
  }
  if (status.ok() && publish) status = file.WriteAt(at, header, kWordBytes);
  return status.ok() ? status : TakeBack(at, std::move(status));
}

// What an append that failed has put behind `at` must not be where a later frame ends. Where it is
// not known what is there, or it cannot be cut, the log latches.
Status Log::TakeBack(uint64_t at, Status failure) {
  if (latched_) return failure;
  tail_.reset();
  append_offset_ = at;
  const bool known = failure.code() == Code::kNoSpace || failure.code() == Code::kOutOfMemory ||
                     failure.code() == Code::kTooManyFiles;
  if (known && CutSegment(active_->file(), at, active_->bytes()).ok()) return failure;
  Latch(std::move(failure), next_seq_, next_seq_);
  return failure_;
}

// The memory for what is about to be staged, padding to whole blocks included, before anything else
// changes: a rotation, or a batch, that fails half-way could not be taken back.
Status Log::ReserveStage(uint64_t frame_bytes, bool rotates) {
  const bool continues = !rotates && !filling_.empty() && filling_.back().segment == active_;
  if (!continues && next_buffer_.capacity() == 0) next_buffer_ = TakeBuffer();
  AlignedBuffer& buffer = continues ? filling_.back().buffer : next_buffer_;
  // In front of a piece's first frame stands less than a block.
  const size_t used = continues ? filling_.back().used() : capabilities_.direct_alignment;
  const uint64_t needed = AlignUp(used + frame_bytes, capabilities_.direct_alignment);
  if (buffer.Reserve(static_cast<size_t>(needed), continues ? used : 0)) return Status::Ok();
  return Status::Error(Code::kOutOfMemory, "there is no memory to stage what is appended");
}

Result<StagedPiece*> Log::CurrentPiece() {
  if (!filling_.empty() && filling_.back().segment == active_) return &filling_.back();
  StagedPiece piece;
  piece.segment = active_;
  piece.begin = piece.end = piece.buffer_offset = append_offset_;
  piece.buffer = std::move(next_buffer_);
  if (mode_ == WriteMode::kDirect) {
    piece.buffer_offset = AlignDown(append_offset_, capabilities_.direct_alignment);
    DURLOG_RETURN_IF_ERROR(FillHead(&piece));
  }
  filling_.push_back(std::move(piece));
  return &filling_.back();
}

// What stands in front of the first frame in its block: a direct write takes whole blocks, and must
// leave the file as it was there.
Status Log::FillHead(StagedPiece* piece) {
  uint8_t* const to = piece->buffer.data();
  const size_t head = piece->used();
  if (head == 0) return Status::Ok();
  if (tail_image_.segment == active_.get() && tail_image_.offset == piece->buffer_offset &&
      tail_image_.bytes.size() == head) {
    std::copy(tail_image_.bytes.begin(), tail_image_.bytes.end(), to);
  } else if (active_->active()) {
    DURLOG_ASSIGN_OR_RETURN(const size_t read,
                            active_->file().ReadAt(piece->buffer_offset, to, head));
    std::memset(to + read, 0, head - read);
  } else {
    // A block that is longer than the header, of a segment that has no file yet.
    EncodeSegmentHeader(active_->header(), to);
  }
  return Status::Ok();
}

Status Log::StageFrame(const FrameFields& fields, Bytes payload) {
  DURLOG_ASSIGN_OR_RETURN(StagedPiece* const piece, CurrentPiece());
  EncodeFrame(fields, payload, active_->crc_seed(), piece->buffer.data() + piece->used());
  piece->end += fields.frame_bytes();
  append_offset_ = piece->end;
  return Status::Ok();
}

Result<uint64_t> Log::AppendBatch(const Bytes* payloads, size_t count, Level level,
                                  uint64_t time_ms) {
  uint64_t frame_bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    DURLOG_RETURN_IF_ERROR(CheckAppend(payloads[i]));
    frame_bytes += FrameBytes(payloads[i].size);
  }
  if (count == 0) return Status::Error(Code::kInvalidArgument, "a batch has at least one record");
  // A batch never spans segments, so that its frames live and die with one file.
  if (frame_bytes > options_.segment_bytes - kSegmentHeaderBytes) {
    return Status::Error(Code::kBatchTooLarge, "the batch takes " + std::to_string(frame_bytes) +
                                                   " bytes and must fit into one segment");
  }
  if (frame_bytes > options_.max_pending_bytes) {
    return Status::Error(Code::kBatchTooLarge, "the batch takes " + std::to_string(frame_bytes) +
                                                   " bytes, maxPendingBytes is " +
                                                   std::to_string(options_.max_pending_bytes));
  }
  DURLOG_RETURN_IF_ERROR(MakeRoom(frame_bytes, time_ms));
  const uint64_t first_seq = next_seq_;
  if (mode_ == WriteMode::kMapped) {
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
  NoteAppended(frame_bytes, count, level);
  return first_seq;
}

// The first frame's word is published last: a reader sees the whole batch or nothing of it.
Status Log::StoreMappedBatch(const Bytes* payloads, size_t count) {
  const uint64_t begin = append_offset_;
  uint32_t first_word = 0;
  for (size_t i = 0; i < count; ++i) {
    FrameFields fields = NextFields(payloads[i].size);
    fields.seq += i;
    fields.unsynced += static_cast<uint32_t>(i);
    fields.batch_continues = i + 1 < count;
    if (i == 0) first_word = FrameWord(fields);
    Status stored = StoreMapped(fields, payloads[i], i > 0);
    // Frames that are whole stand behind the first one's missing word.
    if (!stored.ok()) return i > 0 ? TakeBack(begin, std::move(stored)) : stored;
  }
  if (!tail_->Holds(begin)) return WriteWord(begin, first_word);
  tail_->Publish(begin, first_word);
  return Status::Ok();
}

// For a batch so long that its beginning is no longer mapped.
Status Log::WriteWord(uint64_t at, uint32_t word) {
  uint8_t bytes[kWordBytes];
  Store32(bytes, word);
  Status written = active_->file().WriteAt(at, bytes, sizeof bytes);
  return written.ok() ? written : TakeBack(at, std::move(written));
}

// Preallocation is quick, and a caller of a synchronous write has nothing better to do.
Result<uint64_t> Log::AppendAwaitingSpare(Bytes payload, Level level, uint64_t time_ms) {
  const uint64_t rollbacks = rollbacks_;
  Result<uint64_t> appended = Append(payload, level, time_ms);
  // A caller that does not wait for what failed is not behind it.
  if (!appended.ok() && rollbacks_ != rollbacks) appended = Append(payload, level, time_ms);
  if (appended.ok() || !rotation_waits_ || !spare_) return appended;
  spare_->Await();
  return Append(payload, level, time_ms);
}

DURLOG_FLATTEN Result<uint64_t> Log::Write(Bytes payload) {
  if (!Takes(payload)) return CheckAppend(payload);
  if (mode_ != WriteMode::kMapped && ShouldMap()) {
    // What is staged or under way comes before this record, and so must be in memory before it.
    if (next_seq_ > 0) DURLOG_RETURN_IF_ERROR(AwaitLevel(next_seq_ - 1, Level::kMemory));
    DURLOG_RETURN_IF_ERROR(EnsureMapped());
  }
  DURLOG_ASSIGN_OR_RETURN(const uint64_t seq,
                          AppendAwaitingSpare(payload, Level::kMemory, kClockTime));
  if (acks_.memory_end() <= seq) DURLOG_RETURN_IF_ERROR(AwaitLevel(seq, Level::kMemory));
  return seq;
}

Result<uint64_t> Log::AppendSync(Bytes payload, Level level, uint64_t time_ms) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t seq, AppendAwaitingSpare(payload, level, time_ms));
  DURLOG_RETURN_IF_ERROR(AwaitLevel(seq, level));
  return seq;
}

void Log::RequestSync(Level level) {
  if (!latched_ && next_seq_ > 0) acks_.Want(level, next_seq_);
}

// Nothing but the news that every record before it is on the device.
Status Log::AppendMarker() {
  if (append_offset_ + kFrameHeaderBytes > active_->bytes()) return Status::Ok();
  if (mode_ == WriteMode::kMapped && !tail_) DURLOG_RETURN_IF_ERROR(EnsureMapped());
  if (mode_ != WriteMode::kMapped) {
    DURLOG_RETURN_IF_ERROR(ReserveStage(kFrameHeaderBytes, false));
  }
  FrameFields fields = NextFields(0);
  fields.state = FrameState::kMarker;
  return StoreFrame(fields, Bytes{});
}

void Log::PrepareClose() {
  closing_ = true;
  if (!latched_) acks_.Want(Level::kSync, next_seq_);
}

}  // namespace durlog
