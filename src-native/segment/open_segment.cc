#include "segment/open_segment.h"

#include <string>

#include "record/segment_name.h"

namespace durlog {

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
  Result<DecodedSegmentHeader> decoded = DecodeSegmentHeader(block, read);
  if (!decoded.ok()) {
    return decoded.TakeStatus().WithPath(directory.PathOf(name)).WithOffset(0);
  }
  opened.header = decoded->header;
  opened.header_copies_differ = decoded->copies_differ;
  return opened;
}

}  // namespace durlog
