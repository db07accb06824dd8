#include "segment/scanner.h"

#include <algorithm>
#include <utility>

#include "segment/synced_slot.h"

namespace durlog {

FrameScanner::FrameScanner(File& file, const ScanContext& context, uint64_t file_bytes,
                           uint32_t alignment, ReadHeld read_held)
    : file_(file),
      context_(context),
      end_(std::min(context.segment_bytes, file_bytes)),
      window_(file, end_, alignment, std::move(read_held)),
      next_seq_(context.first_seq) {}

// First decodes the frame from the bytes in the window, then with the length in its header, which
// has been checked against the segment by then. The payload of a frame without a record is not
// read.
Result<DecodeStatus> FrameScanner::Decode(uint64_t offset, DecodedFrame* frame) {
  if (offset >= end_) return DecodeStatus::kFree;
  const uint64_t room = context_.segment_bytes - offset;
  DURLOG_ASSIGN_OR_RETURN(ReadWindow::View view, window_.At(offset, kFrameHeaderBytes));
  // The file ends within a header: free, and damage only if a byte of it is not zero.
  if (view.size < kFrameHeaderBytes) return DecodeStatus::kFree;
  DecodeStatus status = DecodeFrame(view.data, view.size, room, context_.crc_seed, frame);
  if (status != DecodeStatus::kShort && status != DecodeStatus::kWhole) return status;
  const uint64_t frame_bytes = frame->fields.frame_bytes();
  if (frame_bytes > end_ - offset) return DecodeStatus::kShort;
  if (status == DecodeStatus::kWhole) return status;
  DURLOG_ASSIGN_OR_RETURN(view, window_.At(offset, static_cast<size_t>(frame_bytes)));
  return DecodeFrame(view.data, view.size, room, context_.crc_seed, frame);
}

Result<ScannedFrame> FrameScanner::Next() {
  DecodedFrame decoded;
  ScannedFrame frame;
  frame.offset = position_;
  DURLOG_ASSIGN_OR_RETURN(frame.status, Decode(position_, &decoded));
  frame.fields = decoded.fields;
  frame.payload = decoded.payload;
  if (frame.status != DecodeStatus::kWhole) return frame;
  if (any_seq_) next_seq_ = frame.fields.seq;
  if (frame.fields.seq != next_seq_) {
    frame.status = DecodeStatus::kBadCrc;
    // Only the first frame proves this, because the marker of an interrupted cut may cover a record
    // before a whole one.
    frame.misplaced = position_ == kSegmentHeaderBytes;
    return frame;
  }
  if (inside_batch_ && frame.fields.state != FrameState::kCommitted) {
    frame.status = DecodeStatus::kBadState;
    return frame;
  }
  inside_batch_ = frame.fields.continues_batch();
  position_ += frame.fields.frame_bytes();
  next_seq_ += frame.fields.seqs();
  return frame;
}

// The cheap test comes first: the 64-bit seq must be in a narrow range, so hardly anything except a
// real frame reaches the checksum.
bool FrameScanner::IsPlausible(const FrameFields& fields, uint64_t offset) const {
  if (fields.state != FrameState::kCommitted && fields.state != FrameState::kMarker) return false;
  const uint64_t most = (offset - kSegmentHeaderBytes) / kMinRecordFrameBytes;
  if (fields.seq < next_seq_ || fields.seq - context_.first_seq > most) return false;
  if ((fields.length == 0) != (fields.state == FrameState::kMarker)) return false;
  return fields.frame_bytes() <= context_.segment_bytes - offset && fields.unsynced <= fields.seq;
}

// A payload may hold numbers that look like headers: if seq 0 is sought, nearly any word before
// zeros does. The first of them are checked by decoding them.
Result<bool> FrameScanner::MayBeWhole(const uint8_t* header, const FrameFields& fields,
                                      uint64_t offset) {
  if (fields.frame_bytes() > end_ - offset) return false;
  checked_bytes_ += fields.length;
  if (checked_bytes_ <= kCheckedDirectly) return true;
  if (!ranges_) ranges_.emplace(file_, kSegmentHeaderBytes, end_);
  const uint32_t stored = Load32(header + kFrameCrcOffset);
  const uint64_t payload = offset + kFrameHeaderBytes;
  DURLOG_ASSIGN_OR_RETURN(
      const uint32_t crc,
      ranges_->Continue(HeaderCrc(context_.crc_seed, header), payload, payload + fields.length));
  return crc == stored;
}

Result<std::optional<ScannedFrame>> FrameScanner::Resync() {
  for (uint64_t offset = position_; offset + kFrameHeaderBytes <= end_; offset += kFrameAlignment) {
    DURLOG_ASSIGN_OR_RETURN(ReadWindow::View view, window_.At(offset, kFrameHeaderBytes));
    if (view.size < kFrameHeaderBytes) break;
    if (Load32(view.data) == 0) continue;
    const FrameFields fields = PeekFrame(view.data);
    if (!IsPlausible(fields, offset)) continue;
    DURLOG_ASSIGN_OR_RETURN(const bool may_be, MayBeWhole(view.data, fields, offset));
    if (!may_be) continue;
    DecodedFrame decoded;
    DURLOG_ASSIGN_OR_RETURN(DecodeStatus status, Decode(offset, &decoded));
    if (status != DecodeStatus::kWhole) continue;
    ScannedFrame frame;
    frame.status = status;
    frame.offset = offset;
    frame.fields = decoded.fields;
    frame.payload = decoded.payload;
    position_ = offset + fields.frame_bytes();
    next_seq_ = fields.seq + (fields.state == FrameState::kCommitted ? 1 : 0);
    inside_batch_ = false;
    return std::optional<ScannedFrame>(frame);
  }
  return std::optional<ScannedFrame>();
}

Result<bool> FrameScanner::AnyNonZero(uint64_t offset, const DataMap& data) {
  for (;;) {
    // Skips the zeros of blocks that were never written.
    offset = data.NextData(offset);
    DURLOG_ASSIGN_OR_RETURN(ReadWindow::View view, window_.At(offset, 1));
    if (view.size == 0) break;
    if (!IsAllZero(view.data, view.size)) return true;
    offset += view.size;
  }
  return false;
}

namespace {

// Scans the frames up to the first one that is not whole. A batch counts only if its last record is
// present.
Result<ScannedFrame> ScanWholeFrames(FrameScanner& scanner, SegmentScan* scan) {
  uint64_t batch_records = 0;
  uint64_t batch_bytes = 0;
  for (;;) {
    DURLOG_ASSIGN_OR_RETURN(ScannedFrame frame, scanner.Next());
    if (frame.status != DecodeStatus::kWhole) {
      // The rest of an unfinished batch is damage, even if free space follows it.
      if (batch_records > 0 && frame.status == DecodeStatus::kFree) {
        frame.status = DecodeStatus::kShort;
      }
      return frame;
    }
    scan->synced_end = std::max(scan->synced_end, frame.fields.synced_end());
    if (frame.fields.state == FrameState::kCommitted) {
      ++batch_records;
      scan->last_time_ms = std::max(scan->last_time_ms, frame.fields.time_ms);
      batch_bytes += frame.fields.length;
      if (frame.fields.batch_continues) continue;
      scan->records_end = scanner.position();
      scan->records += batch_records;
      scan->payload_bytes += batch_bytes;
      batch_records = 0;
      batch_bytes = 0;
    } else if (frame.fields.seqs() > 0) {
      scan->records_end = scanner.position();
    }
    scan->end_offset = scanner.position();
    scan->next_seq = scanner.next_seq();
  }
}

// Whether the bytes after the end are anything other than unused space.
Result<bool> IsDamage(FrameScanner& scanner, const DataMap& data, const ScanContext& context,
                      const ScannedFrame& frame, const SegmentScan& scan) {
  // The frame is whole with the segment's salt, so it is not stale: the file had another name.
  if (scan.misplaced) return true;
  if (!context.recycled) {
    if (frame.offset != scan.end_offset) return true;
    if (frame.status != DecodeStatus::kFree) return true;
    return scanner.AnyNonZero(scan.end_offset, data);
  }
  // Stale bytes from the file's previous use are no damage, but a frame with the expected seq is.
  if (frame.offset != scan.end_offset) return true;
  return frame.status != DecodeStatus::kFree && frame.fields.seq == scan.next_seq;
}

void CountAfterDamage(const FrameFields& fields, const FrameScanner& scanner, SegmentScan* scan) {
  scan->synced_end = std::max(scan->synced_end, fields.synced_end());
  scan->next_after = std::max(scan->next_after, scanner.next_seq());
  if (fields.state != FrameState::kCommitted) return;
  if (scan->records_after == 0) scan->first_after = fields.seq;
  ++scan->records_after;
}

// Skips the frames of a file that had another name: their seqs are assigned, but its present name
// does not show them.
Status SkipMisplaced(FrameScanner&& scanner, uint64_t offset, SegmentScan* scan) {
  scanner.AcceptAnySeq();
  scanner.Seek(offset, 0);
  for (;;) {
    DURLOG_ASSIGN_OR_RETURN(const ScannedFrame frame, scanner.Next());
    if (frame.status != DecodeStatus::kWhole) return Status::Ok();
    scan->next_after = std::max(scan->next_after, scanner.next_seq());
  }
}

// Scans every run of valid frames after the first damaged one.
Status ScanAfterDamage(FrameScanner& scanner, SegmentScan* scan) {
  for (;;) {
    DURLOG_ASSIGN_OR_RETURN(const std::optional<ScannedFrame> found, scanner.Resync());
    if (!found) return Status::Ok();
    scan->damaged = true;
    CountAfterDamage(found->fields, scanner, scan);
    for (;;) {
      DURLOG_ASSIGN_OR_RETURN(const ScannedFrame frame, scanner.Next());
      if (frame.status != DecodeStatus::kWhole) break;
      CountAfterDamage(frame.fields, scanner, scan);
    }
  }
}

}  // namespace

Result<SegmentScan> ScanSegment(File& file, const ScanContext& context) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, file.Size());
  DURLOG_ASSIGN_OR_RETURN(const DataMap data, DataMap::Of(file, file_bytes));
  FrameScanner scanner(file, context, file_bytes);
  SegmentScan scan;
  scan.next_seq = context.first_seq;
  DURLOG_ASSIGN_OR_RETURN(scan.synced_end, ReadSyncedSlot(file, context.crc_seed));
  DURLOG_ASSIGN_OR_RETURN(const ScannedFrame stop, ScanWholeFrames(scanner, &scan));
  scan.damage = stop.status;
  // Salvage also reads the whole records of a torn batch, so their seqs must not be assigned again.
  scan.next_after = scanner.next_seq();
  scan.misplaced = stop.misplaced;
  if (stop.misplaced) {
    DURLOG_RETURN_IF_ERROR(
        SkipMisplaced(FrameScanner(file, context, file_bytes), stop.offset, &scan));
  }
  DURLOG_ASSIGN_OR_RETURN(scan.damaged, IsDamage(scanner, data, context, stop, scan));
  // The slot states that there were more records, even if only zeros are left of them.
  scan.damaged = scan.damaged || scan.next_seq < scan.synced_end;
  // In a recycled file a hole may read as stale bytes, so the bytes after the end are always
  // searched.
  if (scan.damaged || context.recycled) {
    scanner.Seek(stop.offset, scan.next_seq);
    DURLOG_RETURN_IF_ERROR(ScanAfterDamage(scanner, &scan));
  }
  scan.bytes_read = scanner.bytes_read();
  return scan;
}

}  // namespace durlog
