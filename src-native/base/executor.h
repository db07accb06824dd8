#pragma once

#include <memory>

#include "base/job.h"

namespace durlog {

// Runs jobs on worker threads. Execute() is called on the log's own thread and returns at once. A
// worker then calls RunOnce(); afterwards the log's owner is notified, and checks its jobs.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void Execute(std::shared_ptr<Job> job) = 0;
};

}  // namespace durlog
