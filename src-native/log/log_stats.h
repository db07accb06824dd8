#ifndef DURLOG_LOG_LOG_STATS_H_
#define DURLOG_LOG_LOG_STATS_H_

#include <cstdint>
#include <string>

#include "log/options.h"

namespace durlog {

// What a log is made of, and what it has done since it was opened.
struct LogStats {
  Strategy strategy = Strategy::kAuto;
  WriteMode mode = WriteMode::kDirect;
  Preallocation preallocated = Preallocation::kNone;  // of the active segment
  std::string file_system;
  std::string reason;
  uint64_t segments = 0;
  uint64_t segment_bytes = 0;
  uint64_t rotations = 0;
  uint64_t commits = 0;
  uint64_t committed_records = 0;
  uint64_t committed_bytes = 0;
  uint64_t mode_switches = 0;
  uint64_t recycled = 0;
};

}  // namespace durlog

#endif  // DURLOG_LOG_LOG_STATS_H_
