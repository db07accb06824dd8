#include "segment/open_segment.h"

#include <string>
#include <utility>

#include "record/segment_name.h"

namespace durlog {

namespace {

Status DecodeHeader(const uint8_t* block, size_t bytes, OpenedSegment* opened) {
  DURLOG_ASSIGN_OR_RETURN(const DecodedSegmentHeader decoded, DecodeSegmentHeader(block, bytes));
  opened->header = decoded.header;
  opened->header_copies_differ = decoded.copies_differ;
  return Status::Ok();
}

}  // namespace

ScanContext ContextOf(const SegmentHeader& header, uint64_t first_seq) {
  return ScanContext{first_seq, header.crc_seed(), header.segment_bytes, header.recycled};
}

Result<OpenedSegment> OpenSegment(Directory& directory, uint64_t first_seq, OpenMode mode) {
  Result<OpenedSegment> opened = OpenSegmentFile(directory, SegmentName(first_seq), mode);
  if (opened.status().code() != Code::kCorrupt) return opened;
  return opened.TakeStatus().WithLost(first_seq, first_seq);
}

Result<OpenedSegment> OpenSegmentFile(Directory& directory, const std::string& name,
                                      OpenMode mode) {
  OpenedSegment opened;
  DURLOG_ASSIGN_OR_RETURN(opened.file, directory.Open(name, mode));
  uint8_t block[kSegmentHeaderBytes];
  DURLOG_ASSIGN_OR_RETURN(const size_t read, opened.file->ReadAt(0, block, sizeof block));
  Status decoded = DecodeHeader(block, read, &opened);
  if (!decoded.ok()) return std::move(decoded).WithPath(directory.PathOf(name)).WithOffset(0);
  return opened;
}

std::optional<OpenedSegment> OpenCachedSegment(Directory& directory, uint64_t first_seq) {
  OpenedSegment opened;
  opened.file = directory.OpenCached(SegmentName(first_seq));
  if (!opened.file) return std::nullopt;
  uint8_t block[kSegmentHeaderBytes];
  const size_t read = opened.file->ReadCachedAt(0, block, sizeof block).value_or(0);
  if (!DecodeHeader(block, read, &opened).ok()) return std::nullopt;
  return opened;
}

}  // namespace durlog
