#include "inspect/frames.h"

#include <algorithm>
#include <optional>

#include "inspect/named_segment.h"

namespace durlog {

Result<std::vector<FrameReport>> ListFrames(FileSystem& file_system, const std::string& path,
                                            const std::string& segment, uint64_t offset,
                                            size_t max) {
  DURLOG_ASSIGN_OR_RETURN(const NamedSegment named, OpenNamedSegment(file_system, path, segment));
  const uint64_t end = std::min(named.file_bytes, named.opened.header.segment_bytes);
  FrameScanner scanner = named.Scan();
  scanner.AcceptAnySeq();
  scanner.Seek(std::max<uint64_t>(offset, kSegmentHeaderBytes), named.first_seq);
  std::vector<FrameReport> frames;
  while (frames.size() < max && scanner.position() < end) {
    DURLOG_ASSIGN_OR_RETURN(const ScannedFrame found, scanner.Next());
    FrameReport frame;
    frame.offset = found.offset;
    frame.status = found.status;
    frame.fields = found.fields;
    frame.time_ms = named.opened.header.base_time_ms + found.fields.time_ms;
    if (found.status == DecodeStatus::kWhole) {
      frame.bytes = found.fields.frame_bytes();
      frames.push_back(frame);
      continue;
    }
    // Up to the next frame that can be read, or to the end.
    DURLOG_ASSIGN_OR_RETURN(const std::optional<ScannedFrame> next, scanner.Resync());
    const uint64_t until = next ? next->offset : end;
    frame.bytes = until - found.offset;
    frames.push_back(frame);
    scanner.Seek(until, next ? next->fields.seq : scanner.next_seq());
  }
  return frames;
}

}  // namespace durlog
