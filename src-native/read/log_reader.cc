#include "read/log_reader.h"

#include <algorithm>

#include "read/position_index.h"
#include "read/recent_frames.h"
#include "record/segment_name.h"
#include "recovery/identity.h"
#include "recovery/log_files.h"
#include "segment/open_segment.h"

namespace durlog {
Result<std::unique_ptr<LogReader>> LogReader::Open(FileSystem& file_system, const std::string& path,
                                                   uint64_t from_seq, const LogUuid& uuid) {
  return ReadUntrimmed([&] { return OpenOnce(file_system, path, from_seq, uuid); });
}

Result<std::unique_ptr<LogReader>> LogReader::OpenOnce(FileSystem& file_system,
                                                       const std::string& path, uint64_t from_seq,
                                                       const LogUuid& uuid) {
  DURLOG_ASSIGN_OR_RETURN(auto directory, file_system.OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(const LogFiles files, FindLogFiles(*directory));
  if (from_seq < files.segments.front()) {
    return Status::Error(Code::kOutOfRange, "seq " + std::to_string(from_seq) +
                                                " has been trimmed away; the log begins at " +
                                                std::to_string(files.segments.front()));
  }
  const auto behind = std::upper_bound(files.segments.begin(), files.segments.end(), from_seq);
  std::unique_ptr<LogReader> reader(new LogReader(std::move(directory), from_seq));
  DURLOG_ASSIGN_OR_RETURN(const LogIdentity identity,
                          IdentifyExpectedLog(*reader->directory_, files.segments, uuid));
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

// If there is no valid frame at a hint, the hint is older than a cut. The reader then continues at
// the segment's start.
Result<bool> LogReader::LeaveHint(const Stop& stop, bool moved) {
  if (moved) hinted_ = false;
  // Only a longer read can decide.
  if (moved || stop.at_limit || stop.need_bytes > 0 || stop.inside_batch) return false;
  hinted_ = false;
  PositionIndex::Shared().Forget(header_.salt);
  Status entered = EnterSegment(segment_first_seq_);
  // The segment was removed, and the file is in use again: there is no record at its start either.
  if (entered.code() == Code::kNotFound) {
    next_seq_ = segment_first_seq_;
    offset_ = kSegmentHeaderBytes;
    return true;
  }
  if (!entered.ok()) return entered;
  return true;
}

Status LogReader::EnterSegment(uint64_t first_seq) {
  DURLOG_ASSIGN_OR_RETURN(OpenedSegment opened,
                          OpenSegment(*directory_, first_seq, OpenMode::kRead));
  DURLOG_RETURN_IF_ERROR(CheckIdentity(*directory_, first_seq, opened.header, uuid_));
  file_ = std::move(opened.file);
  header_ = opened.header;
  const Result<FileId> id = file_->Id();
  recent_key_.reset();
  if (id.ok()) recent_key_ = RecentFrames::KeyOf(header_.salt, *id);
  crc_seed_ = header_.crc_seed();
  segment_first_seq_ = next_seq_ = first_seq;
  offset_ = note_from_ = kSegmentHeaderBytes;
  whole_until_ = 0;
  seen_end_.Keep(Stop().header);
  return Status::Ok();
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
  DURLOG_RETURN_IF_ERROR(file_->ReadAt(offset_, header, sizeof header).TakeStatus());
  const bool frame_begins = offset_ < header_.segment_bytes && Load32(header) != 0;
  if (frame_begins && seen_end_.MustDecode(header)) return true;
  if (next_seq_ == segment_first_seq_) return IsReplaced();
  Result<std::unique_ptr<File>> next = directory_->Open(SegmentName(next_seq_), OpenMode::kRead);
  if (next.ok()) return true;
  if (next.status().code() == Code::kNotFound) return false;
  return next.TakeStatus();
}

}  // namespace durlog
