#include "read/log_reader.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "read/position_index.h"
#include "read/recent_frames.h"
#include "record/segment_name.h"
#include "recovery/identity.h"
#include "recovery/log_files.h"
#include "segment/open_segment.h"

namespace durlog {
namespace {

// If a segment is removed between the listing and its opening, the reader looks for it again.
constexpr int kOpenAttempts = 8;

}  // namespace

Result<std::unique_ptr<LogReader>> LogReader::Open(FileSystem& file_system, const std::string& path,
                                                   uint64_t from_seq) {
  for (int attempt = 1;; ++attempt) {
    Result<std::unique_ptr<LogReader>> reader = OpenOnce(file_system, path, from_seq);
    const bool removed =
        reader.status().sys_errno() != 0 && reader.status().code() == Code::kNotFound;
    if (!removed || attempt == kOpenAttempts) return reader;
  }
}

Result<std::unique_ptr<LogReader>> LogReader::OpenOnce(FileSystem& file_system,
                                                       const std::string& path, uint64_t from_seq) {
  DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<Directory> directory,
                          file_system.OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(const LogFiles files, ListLogFiles(*directory));
  if (files.segments.empty()) {
    return Status::Error(Code::kNotFound, kNoSegment).WithPath(path);
  }
  if (from_seq < files.segments.front()) {
    return Status::Error(Code::kOutOfRange, "seq " + std::to_string(from_seq) +
                                                " has been trimmed away; the log begins at " +
                                                std::to_string(files.segments.front()));
  }
  const auto behind = std::upper_bound(files.segments.begin(), files.segments.end(), from_seq);
  std::unique_ptr<LogReader> reader(new LogReader(std::move(directory), from_seq));
  DURLOG_ASSIGN_OR_RETURN(const LogIdentity identity,
                          IdentifyLog(*reader->directory_, files.segments));
  reader->uuid_ = identity.uuid;
  Status entered = reader->EnterSegment(*std::prev(behind));
  if (!entered.ok()) {
    if (entered.code() != Code::kCorrupt) return entered;
    reader->unreadable_ = std::move(entered);
    reader->next_seq_ = *std::prev(behind);
    return reader;
  }
  reader->FollowHint();
  return reader;
}

void LogReader::FollowHint() {
  const auto position = PositionIndex::Shared().Find(header_.salt, from_seq_);
  if (!position) return;
  offset_ = position->offset;
  next_seq_ = position->seq;
  hinted_ = true;
}

// A hint that leads to no frame is from before a cut: the reader returns to the segment's start.
Result<bool> LogReader::LeaveHint(const Stop& stop, bool moved) {
  if (moved) hinted_ = false;
  // Only a longer read can decide.
  if (moved || stop.at_limit || stop.need_bytes > 0 || stop.inside_batch) return false;
  hinted_ = false;
  PositionIndex::Shared().Forget(header_.salt);
  DURLOG_RETURN_IF_ERROR(EnterSegment(segment_first_seq_));
  return true;
}

Status LogReader::EnterSegment(uint64_t first_seq) {
  DURLOG_ASSIGN_OR_RETURN(OpenedSegment opened,
                          OpenSegment(*directory_, first_seq, OpenMode::kRead));
  DURLOG_RETURN_IF_ERROR(CheckIdentity(*directory_, first_seq, opened.header, uuid_));
  file_ = std::move(opened.file);
  header_ = opened.header;
  crc_seed_ = header_.crc_seed();
  segment_first_seq_ = next_seq_ = first_seq;
  offset_ = note_from_ = kSegmentHeaderBytes;
  whole_until_ = 0;
  seen_end_.Keep(Stop().header);
  return Status::Ok();
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
  DURLOG_ASSIGN_OR_RETURN(
      const size_t read,
      file_->ReadAt(offset_, buffer, static_cast<size_t>(std::min<uint64_t>(capacity, room))));
  Stop stop = Decode(buffer, read, read < capacity, entries, max_entries, limit, batch);
  if (batch->count == 0 && stop.need_bytes > capacity) {
    DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, file_->Size());
    if (stop.need_bytes > file_bytes - std::min(file_bytes, stop.offset)) stop.need_bytes = 0;
  }
  return stop;
}

// Decodes the bytes of one read. Position and count only advance over whole batches, and over the
// records of a batch that is known to be whole.
LogReader::Stop LogReader::Decode(const uint8_t* buffer, size_t read, bool whole_file_read,
                                  ReadEntry* entries, size_t max_entries, uint64_t limit,
                                  ReadBatch* batch) {
  Stop stop;
  const uint64_t begin = offset_;
  const uint64_t room = header_.segment_bytes - begin;
  size_t at = 0;
  size_t count = 0;  // with those of a batch that is not whole yet
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
    if (inside_batch && fields.state != FrameState::kCommitted) {
      stop.status = DecodeStatus::kBadState;
      break;
    }
    // Records that are delivered together have consecutive seqs.
    if (fields.state == FrameState::kVoid && fields.seqs() > 0 && count > 0) break;
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
    if (inside_batch && begin + at > whole_until_) continue;
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
  const bool cut_off = stop.status == DecodeStatus::kShort && !whole_file_read;
  stop.inside_batch = inside_batch && !stop.at_limit && begin + at > whole_until_ &&
                      (cut_off || count == max_entries);
  if (cut_off && !stop.inside_batch) {
    stop.need_bytes = read - at < kFrameHeaderBytes
                          ? kFrameHeaderBytes
                          : static_cast<size_t>(frame.fields.frame_bytes());
  }
  return stop;
}

// kWhole if the batch at the position is complete, otherwise the reason why it is not. The records
// of a whole batch are delivered in the pieces that fit into the buffer, so reading a batch takes
// no more memory than its longest record.
Result<DecodeStatus> LogReader::CheckBatch() {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t bytes, file_->Size());
  FrameScanner scanner(*file_, ContextOf(header_, segment_first_seq_), bytes);
  scanner.Seek(offset_, next_seq_);
  for (;;) {
    DURLOG_ASSIGN_OR_RETURN(const ScannedFrame frame, scanner.Next());
    if (frame.status != DecodeStatus::kWhole) return frame.status;
    if (frame.fields.state == FrameState::kCommitted && !frame.fields.batch_continues) break;
  }
  whole_until_ = scanner.position();
  return DecodeStatus::kWhole;
}

Result<ReadBatch> LogReader::Next(uint8_t* buffer, size_t capacity, ReadEntry* entries,
                                  size_t max_entries, uint64_t limit) {
  if (!unreadable_.ok()) return unreadable_;
  bool looked_again = false;
  bool looked_behind = false;
  for (;;) {
    ReadBatch batch;
    const uint64_t before = offset_;
    batch.base_time_ms = header_.base_time_ms;
    DURLOG_ASSIGN_OR_RETURN(Stop stop, Fill(buffer, capacity, entries, max_entries, limit, &batch));
    // Records prove that a hint is right. A later return to the start would read them twice.
    if (batch.count > 0) hinted_ = false;
    if (batch.count > 0 || stop.at_limit) return batch;
    if (hinted_) {
      DURLOG_ASSIGN_OR_RETURN(const bool left, LeaveHint(stop, offset_ > before));
      if (left) continue;
    }
    if (offset_ > before) {  // only skipped frames
      looked_again = looked_behind = false;
      continue;
    }
    if (stop.need_bytes > 0) {
      batch.need_bytes = stop.need_bytes;
      return batch;
    }
    if (stop.inside_batch) {
      DURLOG_ASSIGN_OR_RETURN(stop.status, CheckBatch());
      if (stop.status == DecodeStatus::kWhole) continue;
    }
    DURLOG_ASSIGN_OR_RETURN(const bool entered, EnterNextSegment());
    if (entered) continue;
    // The writer may have changed these bytes between the read and the listing.
    if (!looked_again) {
      looked_again = true;
      continue;
    }
    Status damage = CheckDamage(stop, limit);
    if (damage.ok()) return batch;
    // The evidence that the record was synced was read after the record. If the record was still
    // being written at the first read, it is complete by now.
    if (looked_behind) return damage;
    looked_behind = true;
  }
}

// A position that is still a hint, damage and the end of a segment are left to Next().
std::optional<ReadBatch> LogReader::NextCached(uint8_t* buffer, size_t capacity, ReadEntry* entries,
                                               size_t max_entries, uint64_t limit) {
  if (!unreadable_.ok() || hinted_ || offset_ >= header_.segment_bytes) return std::nullopt;
  const uint64_t room = header_.segment_bytes - offset_;
  const size_t wanted =
      static_cast<size_t>(std::min<uint64_t>(std::min(capacity, kCachedBytes), room));
  size_t read = RecentFrames::Shared().Read(header_.salt, offset_, buffer, wanted);
  if (read == 0) read = file_->ReadCachedAt(offset_, buffer, wanted).value_or(0);
  if (read == 0) return std::nullopt;
  ReadBatch batch;
  batch.base_time_ms = header_.base_time_ms;
  Decode(buffer, read, false, entries, max_entries, limit, &batch);
  return batch.count > 0 ? std::optional<ReadBatch>(batch) : std::nullopt;
}

Result<bool> LogReader::EnterNextSegment() {
  if (next_seq_ == segment_first_seq_) {
    DURLOG_ASSIGN_OR_RETURN(const bool replaced, IsReplaced());
    if (!replaced) return false;
  }
  Status entered = EnterSegment(next_seq_);
  if (entered.ok()) return true;
  if (entered.code() == Code::kNotFound) return false;
  return entered;
}

// A segment without records is replaced by another one of the same name if the next record does not
// fit into it.
Result<bool> LogReader::IsReplaced() {
  const Result<OpenedSegment> opened =
      OpenSegment(*directory_, segment_first_seq_, OpenMode::kRead);
  if (opened.ok()) return opened->header.salt != header_.salt;
  if (opened.status().code() == Code::kNotFound) return false;
  return opened.status();
}

Result<bool> LogReader::Poll() {
  if (!unreadable_.ok()) return true;
  uint8_t header[kFrameHeaderBytes] = {};
  DURLOG_ASSIGN_OR_RETURN(const size_t read, file_->ReadAt(offset_, header, sizeof header));
  static_cast<void>(read);
  const bool frame_begins = offset_ < header_.segment_bytes && Load32(header) != 0;
  if (frame_begins && seen_end_.MustDecode(header)) return true;
  if (next_seq_ == segment_first_seq_) return IsReplaced();
  Result<std::unique_ptr<File>> next = directory_->Open(SegmentName(next_seq_), OpenMode::kRead);
  if (next.ok()) return true;
  if (next.status().code() == Code::kNotFound) return false;
  return next.TakeStatus();
}

}  // namespace durlog
