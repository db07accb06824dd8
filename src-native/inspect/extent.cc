#include "inspect/extent.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "inspect/named_segment.h"
#include "read/recent_frames.h"

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

// Reads the frames that were written directly to the device from memory.
ReadHeld RecentOf(const NamedSegment& named) {
  const Result<FileId> id = named.opened.file->Id();
  if (!id.ok()) return nullptr;
  return [key = RecentFrames::KeyOf(named.opened.header.salt, *id)](uint64_t offset, void* to,
                                                                    size_t capacity) {
    return RecentFrames::Shared().Read(key, offset, to, capacity);
  };
}

// Copies the header of a segment, and the frames of an extent while they are scanned.
class ExtentCopy {
 public:
  Status AddHeader(File& file) {
    if (!copied_.Reserve(kSegmentHeaderBytes, 0)) return NoMemory();
    DURLOG_ASSIGN_OR_RETURN(used_, file.ReadAt(0, copied_.data(), kSegmentHeaderBytes));
    is_complete_ = used_ == kSegmentHeaderBytes;
    return Status::Ok();
  }
  Status Add(const ScannedFrame& frame) {
    if (!is_complete_) return Status::Ok();
    const size_t bytes = static_cast<size_t>(frame.fields.frame_bytes());
    is_complete_ = frame.fields.state == FrameState::kCommitted &&
                   used_ + bytes <= SegmentExtent::kMostCopiedBytes;
    if (!is_complete_) return Status::Ok();
    if (!copied_.Reserve(used_ + bytes, used_)) return NoMemory();
    std::memcpy(copied_.data() + used_, frame.payload - kFrameHeaderBytes, bytes);
    used_ += bytes;
    return Status::Ok();
  }
  // Frames after `bounds` were scanned because their batch could have been whole.
  SegmentExtent ToExtent(const ExtentBounds& bounds) && {
    const size_t bytes = static_cast<size_t>(bounds.end_offset - bounds.begin_offset);
    if (!is_complete_ || bytes == 0) return {bounds, {}, 0};
    return {bounds, std::move(copied_), kSegmentHeaderBytes + bytes};
  }

 private:
  static Status NoMemory() {
    return Status::Error(Code::kOutOfMemory, "no memory to copy the frames");
  }

  AlignedBuffer copied_;
  size_t used_ = 0;
  bool is_complete_ = false;
};

void AddRecord(ExtentBounds& extent, uint64_t time_ms) {
  extent.oldest_ms = extent.records == 0 ? time_ms : std::min(extent.oldest_ms, time_ms);
  extent.newest_ms = std::max(extent.newest_ms, time_ms);
  extent.records++;
}

}  // namespace

Result<SegmentExtent> FindExtent(FileSystem& file_system, const std::string& path,
                                 const std::string& segment, const ExtentQuery& query) {
  DURLOG_ASSIGN_OR_RETURN(const NamedSegment named, OpenNamedSegment(file_system, path, segment));
  FrameScanner scanner = named.Scan(RecentOf(named));
  if (query.offset != 0) scanner.Seek(query.offset, query.seq);
  DURLOG_ASSIGN_OR_RETURN(const bool found, FindSeq(scanner, query.seq));
  if (!found) {
    return Status::Error(
        Code::kInvalidArgument,
        "no record or void of \"" + segment + "\" begins with seq " + std::to_string(query.seq));
  }
  ExtentBounds extent;
  extent.begin_offset = extent.end_offset = scanner.position();
  extent.next_seq = query.seq;
  // Takes effect only after the whole batch.
  ExtentBounds ahead = extent;
  ExtentCopy copy;
  DURLOG_RETURN_IF_ERROR(copy.AddHeader(*named.opened.file));
  while (scanner.next_seq() < query.end_seq) {
    DURLOG_ASSIGN_OR_RETURN(const ScannedFrame frame, scanner.Next());
    if (frame.status != DecodeStatus::kWhole || scanner.next_seq() > query.end_seq) break;
    const uint64_t bytes = scanner.position() - extent.begin_offset;
    if (bytes > query.max_bytes && extent.end_offset > extent.begin_offset) break;
    if (frame.fields.state == FrameState::kCommitted) {
      AddRecord(ahead, named.opened.header.base_time_ms + frame.fields.time_ms);
    }
    DURLOG_RETURN_IF_ERROR(copy.Add(frame));
    ahead.end_offset = scanner.position();
    ahead.next_seq = scanner.next_seq();
    if (!frame.fields.continues_batch()) extent = ahead;
  }
  return std::move(copy).ToExtent(extent);
}

}  // namespace durlog
