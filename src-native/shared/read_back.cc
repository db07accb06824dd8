#include "shared/read_back.h"

#include "record/segment_name.h"
#include "segment/open_segment.h"
#include "segment/scanner.h"
#include "shared/frame_step.h"
#include "shared/shared_segment.h"

namespace durlog {

std::unique_ptr<ReadBack> ReadBack::IfNeeded(SharedSegment& segment, uint64_t recovered_end) {
  FrameStep step;
  uint64_t offset = kSegmentHeaderBytes;
  uint64_t end = segment.first_seq();
  for (;;) {
    StepAt(segment, offset, &step);
    if (step.kind != StepKind::kWhole) break;
    offset += step.bytes;
    end += step.seqs;
  }
  // No page of the map is dirty before a member reserves the first place.
  const bool untouched = offset == kSegmentHeaderBytes || end == recovered_end;
  if (step.kind == StepKind::kFree && untouched) return nullptr;
  return std::unique_ptr<ReadBack>(new ReadBack(segment.first_seq(), end));
}

void ReadBack::SkipSynced(SharedSegment& segment, uint64_t synced_end, uint64_t end) {
  FrameStep step;
  while (seq_ < synced_end && offset_ < end) {
    StepAt(segment, offset_, &step);
    if (step.kind != StepKind::kWhole) return;
    offset_ += step.bytes;
    seq_ += step.seqs;
  }
}

Status ReadBack::Check(Directory& directory, SharedSegment& segment, uint32_t direct_alignment,
                       uint64_t synced_end, uint64_t end) {
  SkipSynced(segment, synced_end, end);
  const std::string name = SegmentName(segment.first_seq());
  if (!direct_) {
    DURLOG_ASSIGN_OR_RETURN(direct_, directory.Open(name, OpenMode::kDirectUnsynced));
  }
  FrameScanner scanner(*direct_, ContextOf(segment.header(), segment.first_seq()), end,
                       direct_alignment);
  scanner.Seek(offset_, seq_);
  while (scanner.position() + kFrameHeaderBytes <= end) {
    DURLOG_ASSIGN_OR_RETURN(const ScannedFrame frame, scanner.Next());
    if (frame.status == DecodeStatus::kWhole) continue;
    return Status::Error(Code::kIo,
                         "the device lacks what the page cache shows: an earlier write to it "
                         "failed, and the system reported that to another process")
        .WithPath(directory.PathOf(name))
        .WithOffset(frame.offset);
  }
  offset_ = scanner.position();
  seq_ = scanner.next_seq();
  return Status::Ok();
}

}  // namespace durlog
