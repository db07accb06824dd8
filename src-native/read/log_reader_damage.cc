// The part of LogReader that handles bytes that are no valid frame: it decides whether they are
// damage, and skips them.
#include <algorithm>

#include "read/log_reader.h"
#include "record/segment_name.h"
#include "recovery/log_files.h"
#include "recovery/report.h"
#include "segment/open_segment.h"
#include "segment/scanner.h"
#include "segment/synced_slot.h"

namespace durlog {

// Called at bytes that are not a record, if no segment continues from here.
Status LogReader::CheckDamage(const Stop& stop, uint64_t limit) {
  DURLOG_ASSIGN_OR_RETURN(const LogFiles files, ListLogFiles(*directory_));
  if (files.segments.empty() || files.segments.front() > next_seq_) {
    return Status::Error(Code::kOutOfRange, "seq " + std::to_string(next_seq_) +
                                                " was trimmed away while it was being read");
  }
  DURLOG_ASSIGN_OR_RETURN(const uint64_t stated, ReadSyncedSlot(*file_, crc_seed_));
  const bool known_to_exist = next_seq_ < stated || (limit != kNoLimit && next_seq_ < limit);
  const bool gap = files.segments.back() > next_seq_;
  if (stop.status == DecodeStatus::kFree && !gap && !known_to_exist) {
    seen_end_.Keep(stop.header);
    return Status::Ok();
  }
  if (!known_to_exist && !gap && seen_end_.Is(stop.header)) return Status::Ok();
  uint64_t next_whole = 0;
  DURLOG_ASSIGN_OR_RETURN(const bool synced, DamageIsSynced(&next_whole));
  if (synced || known_to_exist) return LostError(std::max(next_whole, next_seq_ + 1));
  seen_end_.Keep(stop.header);
  return Status::Ok();
}

// The rule of recovery: the bytes are damage, and not an end that is torn or still being written,
// if a slot or a whole frame after them states that the missing record was synced.
Result<bool> LogReader::DamageIsSynced(uint64_t* next_whole) {
  uint64_t synced_end = 0;
  *next_whole = 0;
  DURLOG_ASSIGN_OR_RETURN(const LogFiles files, ListLogFiles(*directory_));
  for (const uint64_t first_seq : files.segments) {
    if (first_seq < segment_first_seq_) continue;
    Result<OpenedSegment> opened = OpenSegment(*directory_, first_seq, OpenMode::kRead);
    if (opened.status().code() == Code::kNotFound) continue;  // removed since it was listed
    if (!opened.ok()) return opened.TakeStatus();
    DURLOG_ASSIGN_OR_RETURN(const uint64_t stated,
                            ReadSyncedSlot(*opened->file, opened->header.crc_seed()));
    synced_end = std::max(synced_end, stated);
    DURLOG_ASSIGN_OR_RETURN(const uint64_t bytes, opened->file->Size());
    FrameScanner scanner(*opened->file, ContextOf(opened->header, first_seq), bytes);
    if (first_seq == segment_first_seq_) scanner.Seek(offset_, next_seq_);
    for (;;) {
      DURLOG_ASSIGN_OR_RETURN(const std::optional<ScannedFrame> found, scanner.Resync());
      if (!found) break;
      synced_end = std::max(synced_end, found->fields.synced_end());
      const bool record = found->fields.state == FrameState::kCommitted;
      if (*next_whole == 0 && record) *next_whole = found->fields.seq;
      if (*next_whole != 0 && synced_end > next_seq_) return true;
    }
  }
  if (*next_whole == 0) *next_whole = synced_end;
  return synced_end > next_seq_;
}

Status LogReader::LostError(uint64_t next_whole) const {
  return Status::Error(Code::kCorrupt,
                       "synced records cannot be read: " + SeqsText(next_seq_, next_whole - 1) +
                           "; restore them from a copy, or read with salvage to skip them")
      .WithPath(directory_->PathOf(SegmentName(segment_first_seq_)))
      .WithOffset(offset_)
      .WithLost(next_seq_, next_whole - 1);
}

// Frames with seqs above the next segment's name do not belong to this place.
Result<bool> LogReader::SkipWithinSegment(uint64_t end_seq) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t bytes, file_->Size());
  FrameScanner scanner(*file_, ContextOf(header_, segment_first_seq_), bytes);
  scanner.Seek(offset_, next_seq_);
  DURLOG_ASSIGN_OR_RETURN(const std::optional<ScannedFrame> found, scanner.Resync());
  if (!found || found->fields.seq >= end_seq) return false;
  offset_ = found->offset;
  next_seq_ = found->fields.seq;
  return true;
}

Result<std::optional<uint64_t>> LogReader::SkipDamage() {
  salvaging_ = true;
  DURLOG_ASSIGN_OR_RETURN(const LogFiles files, ListLogFiles(*directory_));
  if (file_) {
    const auto next =
        std::upper_bound(files.segments.begin(), files.segments.end(), segment_first_seq_);
    const uint64_t end_seq = next == files.segments.end() ? kNoLimit : *next;
    DURLOG_ASSIGN_OR_RETURN(const bool skipped, SkipWithinSegment(end_seq));
    if (skipped) return std::optional<uint64_t>(next_seq_);
  }
  for (auto later = std::upper_bound(files.segments.begin(), files.segments.end(), next_seq_);
       later != files.segments.end(); ++later) {
    Status entered = EnterSegment(*later);
    // Another process may have trimmed the segment since it was listed.
    if (entered.code() == Code::kCorrupt || entered.code() == Code::kNotFound) continue;
    if (!entered.ok()) return entered;
    unreadable_ = Status::Ok();
    return std::optional<uint64_t>(next_seq_);
  }
  return std::optional<uint64_t>();
}

}  // namespace durlog
