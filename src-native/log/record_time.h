// The time of the record being appended.
#pragma once

#include <algorithm>
#include <cstdint>

#include "write/log_writer.h"
#include "write/record_clock.h"

namespace durlog {

// A frame holds the milliseconds between its segment's base time and its record's time. They never
// decrease within a segment. If the clock was set back, it is ignored: the record gets the time of
// the previous one. A time that the caller gave is never changed.
class RecordTime {
 public:
  explicit RecordTime(FileSystem& file_system) : clock_(file_system) {}

  // Sets the time of the next record: `time_ms`, or the clock's for LogWriter::kClockTime. True if
  // the clock was read.
  bool Set(uint64_t time_ms) {
    const bool read = clock_.Tick();
    exact_ = time_ms != LogWriter::kClockTime;
    ms_ = exact_ ? time_ms : clock_.now_ms();
    return read;
  }
  uint64_t ms() const { return ms_; }
  // Called at the end of a turn: the next record reads the clock.
  void Refresh() { clock_.Refresh(); }

  // Whether the record may follow a record of `last_time_ms` in a segment of that base time.
  bool MayFollow(uint64_t base_time_ms, uint32_t last_time_ms) const {
    if (ms_ < base_time_ms) return !exact_;
    const uint64_t elapsed_ms = ms_ - base_time_ms;
    if (elapsed_ms < last_time_ms) return !exact_;
    return elapsed_ms <= UINT32_MAX;
  }
  // The time in the record's frame there. Requires MayFollow().
  uint32_t InFrame(uint64_t base_time_ms, uint32_t last_time_ms) const {
    const uint64_t elapsed_ms = ms_ > base_time_ms ? ms_ - base_time_ms : 0;
    return std::max(last_time_ms, static_cast<uint32_t>(elapsed_ms));
  }

 private:
  RecordClock clock_;
  uint64_t ms_ = 0;
  bool exact_ = false;  // the caller gave the time; it is stored exactly
};

}  // namespace durlog
