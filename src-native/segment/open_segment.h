// A segment's file and its header, as a reader or a recovery opens it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "platform/file_system.h"
#include "record/segment_header.h"
#include "segment/scanner.h"

namespace durlog {

struct OpenedSegment {
  std::unique_ptr<File> file;
  SegmentHeader header;
  bool header_copies_differ = false;  // `header` is the first valid copy
};

// Opens a segment and reads its header. kCorrupt if neither copy of the header is whole, kVersion
// if a newer version wrote it.
Result<OpenedSegment> OpenSegment(Directory& directory, uint64_t first_seq, OpenMode mode);
// As OpenSegment(), for a file whose name need not be a segment's name.
Result<OpenedSegment> OpenSegmentFile(Directory& directory, const std::string& name, OpenMode mode);

// As OpenSegment() with kRead, but never waits for the device. nullopt if the page cache does not
// hold what is needed, or after an error.
std::optional<OpenedSegment> OpenCachedSegment(Directory& directory, uint64_t first_seq);

// The context for scanning the frames of a segment.
ScanContext ContextOf(const SegmentHeader& header, uint64_t first_seq);

}  // namespace durlog
