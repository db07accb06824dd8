// The part of a segment that holds a range of records, for a copy of the segment's own bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/aligned_buffer.h"
#include "platform/file_system.h"

namespace durlog {

// The beginning of an extent, and its limits.
struct ExtentQuery {
  uint64_t offset = 0;     // of the frame of `seq`; 0: search from the beginning of the segment
  uint64_t seq = 0;        // of the first record or void
  uint64_t end_seq = 0;    // exclusive
  uint64_t max_bytes = 0;  // of all frames; a single batch may be longer
};

struct ExtentBounds {
  uint64_t begin_offset = 0;
  uint64_t end_offset = 0;  // begin_offset if the extent is empty
  uint64_t next_seq = 0;    // after the last seq of the extent
  uint64_t records = 0;
  uint64_t oldest_ms = 0;  // since the Unix epoch; 0 if there is no record
  uint64_t newest_ms = 0;
};

struct SegmentExtent : ExtentBounds {
  // The segment's header and the bytes of the extent, as they were checked, from one open file.
  // Empty if the extent is, if they are longer than kMostCopiedBytes, or if a frame holds no
  // record: the content of a void is not read.
  static constexpr size_t kMostCopiedBytes = 64 << 10;
  AlignedBuffer copy;
  size_t copy_bytes = 0;
};

// Checks every frame from the first record on. Ends before the first frame that is not whole, and
// never inside a batch. kNotFound if the segment does not exist, kInvalidArgument if `seq` is not
// the first seq of one of its whole frames.
Result<SegmentExtent> FindExtent(FileSystem& file_system, const std::string& path,
                                 const std::string& segment, const ExtentQuery& query);

}  // namespace durlog
