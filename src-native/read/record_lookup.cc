#include "read/record_lookup.h"

#include <algorithm>

#include "read/position_index.h"

namespace durlog {

// The buffer size: as many bytes of the file as may be read.
Result<size_t> RecordLookup::ReadFile(uint64_t offset, size_t length) {
  if (reading_ == Reading::kAny) return segment_.file->ReadAt(offset, buffer_.data(), length);
  if (reads_ > 0 || length > kWindowBytes) return size_t{0};
  return segment_.file->ReadCachedAt(offset, buffer_.data(), length).value_or(0);
}

// `wanted` bytes at `offset`; null if no more may be read, or if the file ends before. Valid until
// the next call.
Result<const uint8_t*> RecordLookup::Read(uint64_t offset, size_t wanted) {
  if (offset < begin_ || offset + wanted > begin_ + filled_) {
    const uint64_t room = segment_.header.segment_bytes - offset;
    const size_t length =
        std::max(wanted, static_cast<size_t>(std::min<uint64_t>(next_read_bytes_, room)));
    if (!buffer_.Reserve(length, 0)) {
      return Status::Error(Code::kOutOfMemory,
                           "no memory for a record of " + std::to_string(wanted) + " bytes");
    }
    filled_ = 0;
    DURLOG_ASSIGN_OR_RETURN(filled_, ReadFile(offset, length));
    begin_ = offset;
    next_read_bytes_ = kWindowBytes;
    ++reads_;
    if (filled_ < wanted) return nullptr;
  }
  return buffer_.data() + (offset - begin_);
}

// Steps from batch_ to the record's frame.
Result<bool> RecordLookup::HopTo(uint64_t seq) {
  uint64_t at = batch_.seq;
  offset_ = batch_.offset;
  while (reads_ <= kMaxHopReads) {
    if (offset_ + kFrameHeaderBytes > segment_.header.segment_bytes) return false;
    DURLOG_ASSIGN_OR_RETURN(const uint8_t* const header, Read(offset_, kFrameHeaderBytes));
    if (header == nullptr) return false;
    fields_ = PeekFrame(header);
    const bool record = fields_.state == FrameState::kCommitted;
    if (!IsWholeState(fields_.state) || fields_.seq != at) return false;
    if (fields_.frame_bytes() > segment_.header.segment_bytes - offset_) return false;
    if (record && at == seq) return true;
    offset_ += fields_.frame_bytes();
    at += fields_.seqs();
    if (at > seq && !record) return false;  // within a void
    if (!record || !fields_.batch_continues) batch_ = Boundary{at, offset_};
  }
  return false;
}

Result<DecodeStatus> RecordLookup::Decode(uint64_t offset, uint64_t seq, DecodedFrame* frame) {
  const uint64_t room = segment_.header.segment_bytes - offset;
  if (room < kFrameHeaderBytes) return DecodeStatus::kFree;
  DURLOG_ASSIGN_OR_RETURN(const uint8_t* from, Read(offset, kFrameHeaderBytes));
  if (from == nullptr) return DecodeStatus::kShort;
  // Seq and length are checked before memory is allocated for the length.
  const FrameFields fields = PeekFrame(from);
  if (fields.state != FrameState::kCommitted) return DecodeStatus::kBadState;
  if (fields.seq != seq) return DecodeStatus::kBadCrc;
  const uint64_t frame_bytes = fields.frame_bytes();
  if (frame_bytes > room) return DecodeStatus::kOverrun;
  DURLOG_ASSIGN_OR_RETURN(from, Read(offset, static_cast<size_t>(frame_bytes)));
  if (from == nullptr) return DecodeStatus::kShort;
  return DecodeFrame(from, static_cast<size_t>(frame_bytes), room, segment_.crc_seed, frame);
}

// No record of an atomic batch is returned before the whole batch is present.
Result<bool> RecordLookup::BatchIsWhole(uint64_t seq) {
  Boundary at = batch_;
  DecodedFrame frame;
  for (bool more = true; more;) {
    DURLOG_ASSIGN_OR_RETURN(const DecodeStatus status, Decode(at.offset, at.seq, &frame));
    if (status != DecodeStatus::kWhole) return false;
    more = frame.fields.batch_continues;
    at = Boundary{at.seq + 1, at.offset + frame.fields.frame_bytes()};
  }
  return at.seq > seq;
}

Result<std::optional<PointRecord>> RecordLookup::Find(uint64_t seq) {
  const uint64_t salt = segment_.header.salt;
  const bool acknowledged = seq < acknowledged_end_;
  const std::optional<PositionIndex::Found> near =
      acknowledged ? PositionIndex::Shared().FindFrame(salt, seq)
                   : PositionIndex::Shared().Find(salt, seq);
  batch_ =
      near ? Boundary{near->seq, near->offset} : Boundary{segment_.first_seq, kSegmentHeaderBytes};
  const uint64_t from = batch_.offset;
  // The record and its batch are before the next position.
  if (near && near->next_offset > from) {
    next_read_bytes_ =
        static_cast<size_t>(std::min<uint64_t>(next_read_bytes_, near->next_offset - from));
  }
  DURLOG_ASSIGN_OR_RETURN(const bool found, HopTo(seq));
  if (!found) return std::optional<PointRecord>();
  if (!acknowledged && (batch_.seq != seq || fields_.batch_continues)) {
    DURLOG_ASSIGN_OR_RETURN(const bool whole, BatchIsWhole(seq));
    if (!whole) return std::optional<PointRecord>();
  }
  DecodedFrame frame;
  DURLOG_ASSIGN_OR_RETURN(const DecodeStatus status, Decode(offset_, seq, &frame));
  if (status != DecodeStatus::kWhole) return std::optional<PointRecord>();
  const uint64_t end = offset_ + frame.fields.frame_bytes();
  if (end >= from + PositionIndex::kSpacingBytes) {
    PositionIndex::Shared().Note(salt, {seq + 1, end},
                                 frame.fields.batch_continues
                                     ? PositionIndex::Place::kInsideBatch
                                     : PositionIndex::Place::kBetweenBatches);
  }
  PointRecord record;
  record.offset = static_cast<size_t>(frame.payload - buffer_.data());
  record.length = frame.fields.length;
  record.seq = seq;
  record.timestamp_ms = segment_.header.base_time_ms + frame.fields.time_ms;
  record.segment_first_seq = segment_.first_seq;
  record.frame_offset = offset_;
  record.memory = std::move(buffer_);
  return std::optional<PointRecord>(std::move(record));
}

}  // namespace durlog
