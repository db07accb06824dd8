#ifndef DURLOG_LOG_LOG_LISTENER_H_
#define DURLOG_LOG_LOG_LISTENER_H_

#include <cstdint>

#include "base/status.h"

namespace durlog {

// Called on the log's thread, from within Harvest() or from within the call that could not wait.
class LogListener {
 public:
  virtual ~LogListener() = default;
  // Appends from `first_seq` on that have not reached their level never will. Below
  // `unknown_before` they may be on the device, from there on they are not. Unless `latched`, the
  // seqs from `first_seq` on are given out again.
  virtual void OnFailure(const Status& status, uint64_t first_seq, uint64_t unknown_before,
                         bool latched) = 0;
  virtual void OnRotated(uint64_t first_seq) = 0;
  // Of a log that several write: a member of process `pid` (0 if that is not known) lives and does
  // not get on, and `seq` and all after it wait for it. `lasts`: so it has been for so long that a
  // close would not wait any more.
  virtual void OnStalled(int64_t /*pid*/, uint64_t /*seq*/, bool /*lasts*/) {}
  // After PrepareClose(): the log becomes idle although not all that was appended is synced. It is
  // stored.
  virtual void OnClosedUnsynced(const Status& /*stalled*/) {}
};

}  // namespace durlog

#endif  // DURLOG_LOG_LOG_LISTENER_H_
