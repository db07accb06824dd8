// Holds each job until the test has it run, or until it is awaited.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/executor.h"

namespace durlog {

class HeldExecutor final : public Executor {
 public:
  void Execute(std::shared_ptr<Job> job) override { jobs_.push_back(std::move(job)); }
  size_t held() const { return jobs_.size(); }
  void RunAll() {
    for (const std::shared_ptr<Job>& job : std::exchange(jobs_, {})) job->RunOnce();
  }

 private:
  std::vector<std::shared_ptr<Job>> jobs_;
};

}  // namespace durlog
