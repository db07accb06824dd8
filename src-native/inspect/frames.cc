#include "inspect/frames.h"

#include <algorithm>
#include <optional>

#include "record/segment_name.h"
#include "segment/open_segment.h"
#include "segment/scanner.h"

namespace durlog {

Result<std::vector<FrameReport>> ListFrames(FileSystem& file_system, const std::string& path,
                                            const std::string& segment, uint64_t offset,
                                            size_t max) {
  DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<Directory> directory,
                          file_system.OpenDirectory(path, false));
  const std::optional<uint64_t> first_seq = ParseSegmentName(segment);
  if (!first_seq) {
    return Status::Error(Code::kInvalidArgument, "\"" + segment + "\" is not a segment's name");
  }
  DURLOG_ASSIGN_OR_RETURN(OpenedSegment opened,
                          OpenSegment(*directory, *first_seq, OpenMode::kRead));
  DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, opened.file->Size());
  const uint64_t end = std::min(file_bytes, opened.header.segment_bytes);
  FrameScanner scanner(*opened.file, ContextOf(opened.header, *first_seq), file_bytes);
  scanner.AcceptAnySeq();
  scanner.Seek(std::max<uint64_t>(offset, kSegmentHeaderBytes), *first_seq);
  std::vector<FrameReport> frames;
  while (frames.size() < max && scanner.position() < end) {
    DURLOG_ASSIGN_OR_RETURN(const ScannedFrame found, scanner.Next());
    FrameReport frame;
    frame.offset = found.offset;
    frame.status = found.status;
    frame.fields = found.fields;
    frame.time_ms = opened.header.base_time_ms + found.fields.time_ms;
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
