#include "shared/shared_segment.h"

#include <string>

#include "record/segment_name.h"
#include "recovery/identity.h"

namespace durlog {

Result<std::shared_ptr<SharedSegment>> SharedSegment::Open(Directory& directory, uint64_t first_seq,
                                                           const LogUuid& uuid,
                                                           uint64_t recovered_end,
                                                           OpenedSegment* held) {
  DURLOG_ASSIGN_OR_RETURN(OpenedSegment opened,
                          OpenSegment(directory, first_seq, OpenMode::kReadWrite));
  DURLOG_RETURN_IF_ERROR(CheckIdentity(directory, first_seq, opened.header, uuid));
  const std::string path = directory.PathOf(SegmentName(first_seq));
  if (opened.header.version < kSharedVersion || opened.header.recycled) {
    return Status::Error(Code::kCorrupt, "the segment is not one for several writers")
        .WithPath(path);
  }
  // The salt is different for each file.
  const bool opened_early = held->file && held->header.salt == opened.header.salt;
  if (opened_early) {
    opened.file = std::move(held->file);
    opened.file->SetPath(path);
  }
  // A store after the end of the file would be lost.
  DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, opened.file->Size());
  if (file_bytes < opened.header.segment_bytes) {
    return Status::Error(Code::kIo, "the segment was cut while it is open").WithPath(path);
  }
  DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<Mapping> mapping,
                          opened.file->Map(0, static_cast<size_t>(opened.header.segment_bytes)));
  std::shared_ptr<SharedSegment> segment(
      new SharedSegment(first_seq, opened.header, std::move(opened.file), std::move(mapping)));
  if (!opened_early) segment->read_back_ = ReadBack::IfNeeded(*segment, recovered_end);
  return segment;
}

void SharedSegment::DropBefore(uint64_t offset) {
  const uint64_t begin = dropped_to_.exchange(offset, std::memory_order_relaxed);
  if (begin >= offset) return;
  mapping_->DropPages(static_cast<size_t>(begin), static_cast<size_t>(offset - begin));
}

}  // namespace durlog
