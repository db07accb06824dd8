#include "retention/segment_survey.h"

#include <memory>

#include "record/segment_name.h"
#include "segment/open_segment.h"
#include "segment/scanner.h"

namespace durlog {
namespace {

// The time of a record that cannot be read.
constexpr uint64_t kUnknownMs = UINT64_MAX;

// The time of a segment's first record. nullopt if it has no record or cannot be read.
std::optional<uint64_t> FirstTime(Directory& directory, uint64_t first_seq) {
  const Result<OpenedSegment> opened = OpenSegment(directory, first_seq, OpenMode::kRead);
  if (!opened.ok()) return std::nullopt;
  const Result<uint64_t> file_bytes = opened->file->Size();
  if (!file_bytes.ok()) return std::nullopt;
  FrameScanner scanner(*opened->file, ContextOf(opened->header, first_seq), *file_bytes);
  for (;;) {
    const Result<ScannedFrame> frame = scanner.Next();
    if (!frame.ok() || frame->status != DecodeStatus::kWhole) return std::nullopt;
    if (frame->fields.state != FrameState::kCommitted) continue;
    return opened->header.base_time_ms + frame->fields.time_ms;
  }
}

// The newest time of a segment's records. `next_first_seq` is as for IsOlder(). kUnknownMs if a
// record before it is damaged. nullopt if the segment has no record or cannot be read.
std::optional<uint64_t> NewestTime(Directory& directory, uint64_t first_seq,
                                   std::optional<uint64_t> next_first_seq) {
  const Result<OpenedSegment> opened = OpenSegment(directory, first_seq, OpenMode::kRead);
  if (!opened.ok()) return std::nullopt;
  const Result<SegmentScan> scan = ScanSegment(*opened->file, ContextOf(opened->header, first_seq));
  if (!scan.ok()) return std::nullopt;
  if (next_first_seq && scan->next_seq < *next_first_seq) return kUnknownMs;
  if (scan->records == 0) return std::nullopt;
  return opened->header.base_time_ms + scan->last_time_ms;
}

}  // namespace

Result<uint64_t> SegmentSurvey::BytesOf(uint64_t first_seq) {
  const auto known = bytes_.find(first_seq);
  if (known != bytes_.end()) return known->second;
  DURLOG_ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                          directory_.Open(SegmentName(first_seq), OpenMode::kRead));
  DURLOG_ASSIGN_OR_RETURN(const uint64_t bytes, file->Size());
  bytes_[first_seq] = bytes;
  return bytes;
}

bool SegmentSurvey::IsOlder(uint64_t first_seq, std::optional<uint64_t> next_first_seq,
                            uint64_t time_ms) {
  const auto known = newest_ms_.find(first_seq);
  const bool is_known = known != newest_ms_.end();
  if (is_known && known->second != kUnknownMs) return known->second < time_ms;
  if (next_first_seq) {
    const std::optional<uint64_t> behind = FirstTime(directory_, *next_first_seq);
    if (behind && *behind < time_ms) return true;
  }
  if (is_known) return false;
  const std::optional<uint64_t> newest = NewestTime(directory_, first_seq, next_first_seq);
  if (newest && next_first_seq) newest_ms_[first_seq] = *newest;
  return newest && *newest < time_ms;
}

void SegmentSurvey::ForgetBelow(uint64_t first_seq) {
  bytes_.erase(bytes_.begin(), bytes_.lower_bound(first_seq));
  newest_ms_.erase(newest_ms_.begin(), newest_ms_.lower_bound(first_seq));
}

}  // namespace durlog
