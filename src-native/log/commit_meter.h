// Counts a log's commits and measures their time.
#pragma once

#include <cstdint>

#include "base/histogram.h"
#include "log/staged_group.h"
#include "platform/file_system.h"
#include "write/log_stats.h"

namespace durlog {

class CommitMeter {
 public:
  // Counts a commit that has reached its level.
  void NoteDone(const StagedGroup& group) {
    ++commits_;
    records_ += group.end_seq - group.start.seq;
    bytes_ += group.frame_bytes;
  }
  // Records the time of a commit that has reached a level above kMemory.
  void Measure(const StagedGroup& group, uint64_t micros, uint64_t ended_micros);
  void Report(FileSystem& file_system, LogStats* stats) const;

 private:
  uint64_t last_ended_micros_ = 0;  // of a commit that was measured; 0 before the first
  uint64_t commits_ = 0;
  uint64_t records_ = 0;
  uint64_t bytes_ = 0;
  RollingHistogram commit_micros_;
  RollingHistogram commit_records_;
};

}  // namespace durlog
