// Jobs whose end an owner must await before it is destroyed.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/job.h"

namespace durlog {

// Used by one thread at a time.
class JobList {
 public:
  // Drops the jobs that are done.
  void Add(std::shared_ptr<Job> job) {
    const auto done = [](const std::shared_ptr<Job>& old) { return old->done(); };
    jobs_.erase(std::remove_if(jobs_.begin(), jobs_.end(), done), jobs_.end());
    jobs_.push_back(std::move(job));
  }
  bool AllDone() const {
    return std::all_of(jobs_.begin(), jobs_.end(),
                       [](const std::shared_ptr<Job>& job) { return job->done(); });
  }
  void CancelAll() {
    for (const std::shared_ptr<Job>& job : jobs_) job->Cancel();
  }
  void AwaitAll() {
    for (const std::shared_ptr<Job>& job : jobs_) job->Await();
  }

 private:
  std::vector<std::shared_ptr<Job>> jobs_;
};

}  // namespace durlog
