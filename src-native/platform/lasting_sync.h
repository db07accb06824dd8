// A sync that several threads call through one open of a folder.
#pragma once

#include <mutex>

#include "base/status.h"

namespace durlog {

// The system reports a failure once to each open. If two threads sync at the same time, one of them
// gets the report, and the other one must not take its success for a proof. So they sync one after
// the other, and after a failure every call fails.
class LastingSync {
 public:
  template <typename Sync>
  Status Run(const Sync& sync) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (failure_.ok()) failure_ = sync();
    return failure_;
  }

 private:
  std::mutex mutex_;
  Status failure_;
};

}  // namespace durlog
