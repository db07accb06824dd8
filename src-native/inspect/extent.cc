#include "inspect/extent.h"

#include <algorithm>

#include "inspect/named_segment.h"

namespace durlog {
namespace {

// Moves to the frame of `seq`. False if a frame before it is not whole or reaches past it.
Result<bool> FindSeq(FrameScanner& scanner, uint64_t seq) {
  while (scanner.next_seq() < seq) {
    DURLOG_ASSIGN_OR_RETURN(const ScannedFrame frame, scanner.Next());
    if (frame.status != DecodeStatus::kWhole) return false;
  }
  return scanner.next_seq() == seq;
}

void AddRecord(SegmentExtent& extent, uint64_t time_ms) {
  extent.oldest_ms = extent.records == 0 ? time_ms : std::min(extent.oldest_ms, time_ms);
  extent.newest_ms = std::max(extent.newest_ms, time_ms);
  extent.records++;
}

}  // namespace

Result<SegmentExtent> FindExtent(FileSystem& file_system, const std::string& path,
                                 const std::string& segment, const ExtentQuery& query) {
  DURLOG_ASSIGN_OR_RETURN(const NamedSegment named, OpenNamedSegment(file_system, path, segment));
  FrameScanner scanner = named.Scan();
  if (query.offset != 0) scanner.Seek(query.offset, query.seq);
  DURLOG_ASSIGN_OR_RETURN(const bool found, FindSeq(scanner, query.seq));
  if (!found) {
    return Status::Error(
        Code::kInvalidArgument,
        "no record or void of \"" + segment + "\" begins with seq " + std::to_string(query.seq));
  }
  SegmentExtent extent;
  extent.begin_offset = extent.end_offset = scanner.position();
  extent.next_seq = query.seq;
  // Takes effect only after the whole batch.
  SegmentExtent ahead = extent;
  while (scanner.next_seq() < query.end_seq) {
    DURLOG_ASSIGN_OR_RETURN(const ScannedFrame frame, scanner.Next());
    if (frame.status != DecodeStatus::kWhole || scanner.next_seq() > query.end_seq) break;
    const uint64_t bytes = scanner.position() - extent.begin_offset;
    if (bytes > query.max_bytes && extent.end_offset > extent.begin_offset) break;
    if (frame.fields.state == FrameState::kCommitted) {
      AddRecord(ahead, named.opened.header.base_time_ms + frame.fields.time_ms);
    }
    ahead.end_offset = scanner.position();
    ahead.next_seq = scanner.next_seq();
    if (!frame.fields.continues_batch()) extent = ahead;
  }
  return extent;
}

}  // namespace durlog
