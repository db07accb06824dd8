// The clock that gives records their time.
#pragma once

#include <cstdint>

#include "platform/file_system.h"

namespace durlog {

// The clock is read for the first append after a Refresh(), and then for every 17th append: a turn
// of the event loop is short, and reading the clock takes as long as computing a checksum.
class RecordClock {
 public:
  explicit RecordClock(FileSystem& file_system) : file_system_(file_system) {}

  // To be called for each append, before now_ms(). True if the clock was read.
  bool Tick() {
    if (credit_-- > 0) return false;
    credit_ = kAppendsPerRead;
    now_ms_ = file_system_.NowMs();
    return true;
  }
  // Called at the end of a turn: the next append reads the clock.
  void Refresh() { credit_ = 0; }
  uint64_t now_ms() const { return now_ms_; }

 private:
  static constexpr uint32_t kAppendsPerRead = 16;

  FileSystem& file_system_;
  uint64_t now_ms_ = 0;
  uint32_t credit_ = 0;
};

}  // namespace durlog
