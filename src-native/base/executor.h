#pragma once

#include <memory>

#include "base/job.h"

namespace durlog {

// Where jobs go. Execute() is called on the log's own thread, returns at once, and calls
// RunOnce() on some worker; afterwards the log's owner is notified and looks at its jobs.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void Execute(std::shared_ptr<Job> job) = 0;
};

}  // namespace durlog
