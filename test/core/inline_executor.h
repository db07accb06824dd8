// Runs each job in the call that hands it over.
#pragma once

#include <memory>

#include "base/executor.h"

namespace durlog {

class InlineExecutor final : public Executor {
 public:
  void Execute(std::shared_ptr<Job> job) override { job->RunOnce(); }
};

}  // namespace durlog
