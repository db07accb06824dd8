// The part of LogReader that reads bytes of a segment and decodes the records in them.
#include <algorithm>
#include <cstring>
#include <vector>

#include "read/log_reader.h"
#include "read/position_index.h"
#include "read/recent_frames.h"

namespace durlog {
namespace {

constexpr uint64_t kLeastBytesPerRecord = 4096;

}  // namespace

// The bytes to read for the records below `limit`, if they are about as long as the last one. A
// follower lacks few records. If the writer writes directly, the bytes after them are not in the
// page cache, and the device needs more time for these than for the records.
size_t LogReader::BytesBelow(uint64_t limit) const {
  const uint64_t records = limit - std::min(limit, next_seq_);
  const uint64_t frame_bytes = std::max(last_frame_bytes_, kLeastBytesPerRecord);
  // One more, because a frame may be longer than the last one.
  if (records >= SIZE_MAX / frame_bytes) return SIZE_MAX;
  return static_cast<size_t>((records + 1) * frame_bytes);
}

Result<LogReader::Stop> LogReader::Fill(uint8_t* buffer, size_t capacity, ReadEntry* entries,
                                        size_t max_entries, uint64_t limit, ReadBatch* batch) {
  if (offset_ >= header_.segment_bytes) {
    Stop stop;
    stop.offset = offset_;
    batch->next_seq = seq();
    return stop;
  }
  const uint64_t room = header_.segment_bytes - offset_;
  const size_t most = static_cast<size_t>(std::min<uint64_t>(capacity, room));
  const size_t few = std::min(most, BytesBelow(limit));
  const uint64_t begin = offset_;
  DURLOG_ASSIGN_OR_RETURN(size_t read, file_->ReadAt(begin, buffer, few));
  const bool whole_file_read = read < few || few == room;
  Stop stop = Decode(buffer, read, whole_file_read, entries, max_entries, limit, batch);
  const bool needs_more = batch->count == 0 && (stop.need_bytes > 0 || stop.inside_batch);
  if (few < most && offset_ == begin && needs_more) {
    DURLOG_ASSIGN_OR_RETURN(read, file_->ReadAt(begin, buffer, most));
    stop = Decode(buffer, read, read < capacity, entries, max_entries, limit, batch);
  }
  // Such a frame may be longer than any buffer, so its payload is not read.
  if (batch->count == 0 && stop.skip_bytes > 0) {
    DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, file_->Size());
    if (stop.skip_bytes > file_bytes - std::min(file_bytes, offset_)) return stop;
    offset_ += stop.skip_bytes;
    next_seq_ += stop.skip_seqs;
    batch->next_seq = seq();
  }
  if (batch->count == 0 && stop.need_bytes > capacity) {
    DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, file_->Size());
    if (stop.need_bytes > file_bytes - std::min(file_bytes, stop.offset)) stop.need_bytes = 0;
  }
  return stop;
}

// Decodes the bytes of one read. Position and count only advance over whole batches, and over the
// records of a batch that is known to be whole. If there is a limit, the records below it are
// acknowledged.
LogReader::Stop LogReader::Decode(const uint8_t* buffer, size_t read, bool whole_file_read,
                                  ReadEntry* entries, size_t max_entries, uint64_t limit,
                                  ReadBatch* batch) {
  Stop stop;
  const uint64_t begin = offset_;
  const uint64_t room = header_.segment_bytes - begin;
  // A batch with an acknowledged record is whole.
  const uint64_t whole_until = limit == kNoLimit ? whole_until_ : begin + room;
  size_t at = 0;
  size_t count = 0;  // including the records of a batch that is not whole yet
  uint64_t seq = next_seq_;
  bool inside_batch = false;
  DecodedFrame frame;
  uint64_t inside_from = begin + PositionIndex::kSpacingBytes;
  std::vector<PositionIndex::Position> inside;  // a batch that may not be whole
  while (count < max_entries && seq < limit) {
    stop.status = DecodeFrame(buffer + at, read - at, room - at, crc_seed_, &frame);
    // Also set for a frame that was cut off, so that the length in stale bytes causes no longer
    // read.
    const bool has_seq = stop.status == DecodeStatus::kWhole ||
                         (stop.status == DecodeStatus::kShort && read - at >= kFrameHeaderBytes);
    if (has_seq && frame.fields.seq != seq) stop.status = DecodeStatus::kBadCrc;
    if (stop.status != DecodeStatus::kWhole) break;
    const FrameFields& fields = frame.fields;
    last_frame_bytes_ = fields.frame_bytes();
    if (inside_batch && fields.state != FrameState::kCommitted) {
      stop.status = DecodeStatus::kBadState;
      break;
    }
    // Records that are delivered together have consecutive seqs.
    if (fields.state == FrameState::kVoid && fields.seqs() > 0 && count > 0) break;
    if (fields.frame_bytes() > read - at) {
      stop.status = DecodeStatus::kShort;
      stop.skip_bytes = fields.frame_bytes();
      stop.skip_seqs = fields.seqs();
      break;
    }
    if (fields.state == FrameState::kCommitted) {
      if (seq >= from_seq_) {
        if (batch->count == 0 && count == 0) batch->first_seq = seq;
        entries[count++] =
            ReadEntry{static_cast<uint32_t>(at + kFrameHeaderBytes), fields.length, fields.time_ms};
      }
      inside_batch = fields.batch_continues && !salvaging_;
    }
    seq += fields.seqs();
    at += static_cast<size_t>(fields.frame_bytes());
    if (inside_batch && begin + at >= inside_from) {
      inside.push_back({seq, begin + at});
      inside_from = begin + at + PositionIndex::kSpacingBytes;
    }
    if (inside_batch && begin + at > whole_until) continue;
    offset_ = begin + at;
    next_seq_ = seq;
    batch->count = count;
    for (const PositionIndex::Position& position : inside) {
      PositionIndex::Shared().Note(header_.salt, position, PositionIndex::Place::kInsideBatch);
    }
    inside.clear();
    // Salvage may stop inside a batch, and a noted position must never be inside one.
    if (offset_ < note_from_ || salvaging_ || inside_batch) continue;
    PositionIndex::Shared().Note(header_.salt, {next_seq_, offset_});
    note_from_ = offset_ + PositionIndex::kSpacingBytes;
  }
  batch->next_seq = this->seq();
  stop.offset = begin + at;
  const size_t decoded = static_cast<size_t>(offset_ - begin);
  std::memcpy(stop.header, buffer + decoded, std::min(read - decoded, sizeof stop.header));
  stop.at_limit = seq >= limit;
  // The records before the truncated frame are delivered first.
  const bool cut_off =
      stop.status == DecodeStatus::kShort && !whole_file_read && stop.skip_bytes == 0;
  stop.inside_batch = inside_batch && !stop.at_limit && begin + at > whole_until &&
                      (cut_off || count == max_entries);
  if (cut_off && !stop.inside_batch) {
    stop.need_bytes = read - at < kFrameHeaderBytes
                          ? kFrameHeaderBytes
                          : static_cast<size_t>(frame.fields.frame_bytes());
  }
  return stop;
}

// A position that is still a hint, damage and the end of a segment are left to Next().
std::optional<ReadBatch> LogReader::NextCached(uint8_t* buffer, size_t capacity, ReadEntry* entries,
                                               size_t max_entries, uint64_t limit) {
  if (!unreadable_.ok() || hinted_ || offset_ >= header_.segment_bytes) return std::nullopt;
  const uint64_t begin = offset_;
  const uint64_t room = header_.segment_bytes - begin;
  const size_t most =
      static_cast<size_t>(std::min<uint64_t>(std::min(capacity, kCachedBytes), room));
  ReadBatch batch;
  batch.base_time_ms = header_.base_time_ms;
  for (const size_t wanted : {std::min(most, BytesBelow(limit)), most}) {
    size_t read =
        recent_key_ ? RecentFrames::Shared().Read(*recent_key_, begin, buffer, wanted) : 0;
    if (read == 0) read = file_->ReadCachedAt(begin, buffer, wanted).value_or(0);
    if (read == 0) return std::nullopt;
    Decode(buffer, read, false, entries, max_entries, limit, &batch);
    if (batch.count > 0) return batch;
    if (wanted == most || offset_ != begin) break;
  }
  return std::nullopt;
}

}  // namespace durlog
