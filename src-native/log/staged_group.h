// A group of framed records on its way from Staging to a commit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned_buffer.h"
#include "segment/segment.h"

namespace durlog {

// The position of the next record: its seq, its place in the files, and its lowest possible time.
struct LogPosition {
  uint64_t seq = 0;
  std::shared_ptr<Segment> segment;
  uint64_t offset = 0;
  uint32_t last_time_ms = 0;  // of the previous frame in the segment
};

// The frames of a group that go into one segment. For a direct write the buffer begins at a block
// border, with the bytes that the file already has in that block before the new frames.
struct StagedPiece {
  std::shared_ptr<Segment> segment;
  uint64_t buffer_offset = 0;  // where in the segment the buffer's first byte goes
  uint64_t begin = 0;          // where the new frames begin; >= buffer_offset
  uint64_t end = 0;            // the end of the new frames
  AlignedBuffer buffer;

  size_t used() const { return static_cast<size_t>(end - buffer_offset); }
};

struct StagedGroup {
  // The start of the group. Appending resumes here if there is no room for the group.
  LogPosition start;
  uint64_t end_seq = 0;  // exclusive
  uint64_t frame_bytes = 0;
  // In the order of their segments; empty if the records are in a map.
  std::vector<StagedPiece> pieces;

  bool has_records() const { return end_seq > start.seq; }
};

}  // namespace durlog
