// The position of the next record: its seq, its place in the files, and its lowest possible time.
#ifndef DURLOG_LOG_LOG_POSITION_H_
#define DURLOG_LOG_LOG_POSITION_H_

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

#endif  // DURLOG_LOG_LOG_POSITION_H_
