// The statistics of a log that is open for writing.
#pragma once

#include <cstdint>
#include <string>

#include "base/histogram.h"
#include "write/options.h"

namespace durlog {

// The values of all commits, and of the commits of the last minute.
struct Distribution {
  Histogram all;
  Histogram last_minute;
};

// A log's configuration and state, and its counters since it was opened.
struct LogStats {
  Strategy strategy = Strategy::kAuto;
  WriteMode mode = WriteMode::kDirect;
  Preallocation preallocated = Preallocation::kNone;  // of the active segment
  std::string file_system;
  std::string reason;
  uint64_t segments = 0;  // 0 in a shared log, in which no member knows it
  uint64_t segment_bytes = 0;
  uint64_t rotations = 0;
  uint64_t commits = 0;
  uint64_t committed_records = 0;
  uint64_t committed_bytes = 0;
  uint64_t mode_switches = 0;
  uint64_t recycled = 0;
  uint64_t appended_records = 0;
  uint64_t appended_bytes = 0;  // of their frames
  uint64_t trimmed_records = 0;
  uint64_t trimmed_bytes = 0;  // of the files
  // When the last commit above kMemory ended, in milliseconds since 1970; 0 before the first.
  uint64_t last_commit_ms = 0;
  Distribution commit_micros;   // the time of each commit that brought records to its level
  Distribution commit_records;  // and its number of records
};

}  // namespace durlog
