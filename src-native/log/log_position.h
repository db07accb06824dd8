// The position of the next record: its seq, its place in the files, and its lowest possible time.
#pragma once

#include <cstdint>
#include <memory>

#include "segment/segment.h"

namespace durlog {

struct LogPosition {
  uint64_t seq = 0;
  std::shared_ptr<Segment> segment;
  uint64_t offset = 0;
  uint32_t last_time_ms = 0;  // of the previous frame in the segment
};

}  // namespace durlog
