#include "segment/segment_file.h"

namespace durlog {

Status SegmentFile::Allocate() {
  if (is_allocated()) return Status::Ok();
  DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, file_->Size());
  Status allocated = file_->Allocate(0, segment_bytes_);
  is_allocated_ = allocated.ok();
  if (is_allocated_ || allocated.code() == Code::kUnsupported) return allocated;
  if (file_bytes >= segment_bytes_) return allocated;
  // A call that fails half-way has made the file longer, and keeps the blocks that it got.
  DURLOG_RETURN_IF_ERROR(file_->Truncate(file_bytes));
  return allocated;
}

Status SegmentFile::Truncate(uint64_t bytes) {
  LetGo();
  is_allocated_ = is_allocated_ && bytes >= segment_bytes_;
  written_end_ = std::min(written_end_, bytes);
  return file_->Truncate(bytes);
}

Status SegmentFile::Cut(uint64_t offset) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, file_->Size());
  return Cut(offset, file_bytes >= segment_bytes_);
}

Status SegmentFile::Cut(uint64_t offset, bool reallocates) {
  DURLOG_RETURN_IF_ERROR(Truncate(offset));
  if (reallocates) {
    Status allocated = Allocate();
    const bool stays_short = allocated.may_be_repeated() || allocated.code() == Code::kUnsupported;
    if (!allocated.ok() && !stays_short) return allocated;
  }
  return file_->SyncFull();
}

Status SegmentFile::DropFirstChunk() {
  if (!first_chunk_.mapping) return Status::Ok();
  first_chunk_ = Chunk{};
  return file_->SyncData();
}

}  // namespace durlog
