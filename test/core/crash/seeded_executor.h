// Workers whose moments are drawn from a seed, all on the one thread.
#ifndef DURLOG_TEST_CORE_CRASH_SEEDED_EXECUTOR_H_
#define DURLOG_TEST_CORE_CRASH_SEEDED_EXECUTOR_H_

#include <memory>
#include <vector>

#include "base/job.h"
#include "random.h"

namespace durlog::crash {

// A pool has several threads, so jobs may begin in any order.
class SeededExecutor final : public Executor {
 public:
  SeededExecutor(uint64_t seed, uint32_t percent_at_once)
      : random_(seed), percent_at_once_(percent_at_once) {}

  void Execute(std::shared_ptr<Job> job) override {
    if (random_.Percent(percent_at_once_)) {
      job->RunOnce();
    } else {
      queue_.push_back(std::move(job));
    }
  }

  bool idle() const { return queue_.empty(); }
  // Runs one of the jobs that wait, if any does.
  void RunOne() {
    if (queue_.empty()) return;
    const size_t at = static_cast<size_t>(random_.Below(queue_.size()));
    const std::shared_ptr<Job> job = queue_[at];
    queue_.erase(queue_.begin() + static_cast<ptrdiff_t>(at));
    job->RunOnce();
  }

 private:
  Random random_;
  const uint32_t percent_at_once_;
  std::vector<std::shared_ptr<Job>> queue_;
};

}  // namespace durlog::crash

#endif  // DURLOG_TEST_CORE_CRASH_SEEDED_EXECUTOR_H_
