// The interface to the threads that run the jobs of a log.
#pragma once

#include <memory>

#include "base/job.h"

namespace durlog {

// Execute() is called on the log's own thread and returns at once. A worker then runs the job.
// Afterwards the log's owner is notified, and checks its jobs.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void Execute(std::shared_ptr<Job> job) = 0;
};

}  // namespace durlog
