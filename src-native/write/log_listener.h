// The events of a log that is open for writing.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace durlog {

// The methods are called on the log's thread, from within Harvest() or from within a call that
// could not wait.
class LogListener {
 public:
  virtual ~LogListener() = default;
  // The appends from `first_seq` on that have not reached their level have failed. Records below
  // `unknown_before` may be on the device; records from there on are not. If the
  // status is stored(), all appends that wait have failed for now, and their records remain. Unless
  // stored() or `latched`, the seqs from `first_seq` on are assigned again.
  virtual void OnFailure(const Status& status, uint64_t first_seq, uint64_t unknown_before,
                         bool latched) = 0;
  virtual void OnRotated(uint64_t first_seq) = 0;
  // For a shared log: a member in process `pid` (0 if unknown) is alive but makes no progress, and
  // `seq` and all later records wait for it. `lasts`: the stall has lasted so long that a close no
  // longer waits for it.
  virtual void OnStalled(int64_t /*pid*/, uint64_t /*seq*/, bool /*lasts*/) {}
  // Called after PrepareClose() if the log becomes idle although not every record is synced. Every
  // record is stored.
  virtual void OnClosedUnsynced(const Status& /*stalled*/) {}
};

}  // namespace durlog
