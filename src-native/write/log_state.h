// Decides which calls a log accepts.
#pragma once

#include "base/status.h"

namespace durlog {

// A log is open until it is closing. A failure latches it; then it must be closed and opened again.
// While a truncation or a rotation runs, only that job uses the log's files.
class LogState {
 public:
  bool accepts_appends() const { return !latched_ && !closing_ && !exclusive_; }
  bool latched() const { return latched_; }
  bool closing() const { return closing_; }
  bool exclusive() const { return exclusive_; }

  // `failure` is the reason; LatchedError() repeats it.
  void Latch(const Status& failure) {
    latched_ = true;
    failure_ = failure;
  }
  // The reason.
  const Status& failure() const { return failure_; }
  void BeginClose() { closing_ = true; }
  void BeginExclusive() { exclusive_ = true; }
  void EndExclusive() { exclusive_ = false; }

  // kLatched, kClosed.
  Status CheckOpen() const;
  // As CheckOpen(); kBackpressure while a truncation or a rotation runs.
  Status CheckFree() const;
  Status LatchedError() const;

 private:
  bool latched_ = false;
  Status failure_;
  bool closing_ = false;
  bool exclusive_ = false;
};

}  // namespace durlog
