// Workers whose schedule is drawn from a seed, all on one thread. A job may begin at once or late,
// before an older one, and may stop at any of its system calls while other jobs run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/job.h"
#include "fiber.h"
#include "random.h"

namespace durlog::crash {

// The newest instance belongs to the running session; instances are created and destroyed in
// stack order.
class SeededWorkers final : public Executor {
 public:
  // The limit on jobs that have begun, with several processes.
  static constexpr size_t kManyBegun = 32;

  // `percent_at_once`: the share of jobs that begin within Execute(). `percent_switch`: the share
  // of system calls at which a job is suspended, or at which the log's thread lets a job continue.
  SeededWorkers(uint64_t seed, uint32_t percent_at_once, uint32_t percent_switch,
                size_t max_begun = kPoolThreads);
  ~SeededWorkers() override;

  void Execute(std::shared_ptr<Job> job) override { Execute(std::move(job), 0); }
  // Queues a job for one of several processes; 0 means no process.
  void Execute(std::shared_ptr<Job> job, uint32_t owner);
  bool idle() const { return queue_.empty() && begun_.empty(); }
  // Lets one waiting job, if there is one, run until it is suspended or done.
  void RunOne();
  // Called at every system call, by a job or by the log's thread.
  void AtCall();
  // Called when the caller can continue only after another job has made progress.
  void GiveWay();
  // Whether the call comes from within a job, and which process owns that job.
  bool running() const { return running_ != nullptr; }
  uint32_t running_owner() const { return running_ != nullptr ? running_owner_ : 0; }
  // Runs every job that has begun to its end.
  void Finish();
  // Stops the jobs of `owner`: they do not continue. Not to be called from within a job.
  void Abandon(uint32_t owner);
  // As Finish(), including the abandoned jobs.
  void FinishAll();

 private:
  static constexpr size_t kPoolThreads = 4;  // as libuv's pool has threads

  struct Queued {
    std::shared_ptr<Job> job;
    uint32_t owner;
  };
  struct Begun {
    std::unique_ptr<Fiber> fiber;
    uint32_t owner;
  };

  void Resume(size_t index);

  Random random_;
  const uint32_t percent_at_once_;
  const uint32_t percent_switch_;
  SeededWorkers* const previous_;
  const size_t max_begun_;
  std::vector<Queued> queue_;
  std::vector<Begun> begun_;
  std::vector<Begun> abandoned_;
  Fiber* running_ = nullptr;
  uint32_t running_owner_ = 0;
};

}  // namespace durlog::crash
