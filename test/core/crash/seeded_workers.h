// Workers whose moments are drawn from a seed, all on the one thread: a job may begin at once or
// late, ahead of an older one, and stop at any of its system calls while others go on.
#ifndef DURLOG_TEST_CORE_CRASH_SEEDED_WORKERS_H_
#define DURLOG_TEST_CORE_CRASH_SEEDED_WORKERS_H_

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

// The newest is the one whose session is running; they come and go like a stack.
class SeededWorkers final : public Executor {
 public:
  // Of the threads of several processes.
  static constexpr size_t kManyBegun = 32;

  // How many in a hundred: jobs that begin within Execute(); system calls at which a job is left,
  // and at which the log's own thread lets one go on.
  SeededWorkers(uint64_t seed, uint32_t percent_at_once, uint32_t percent_switch,
                size_t max_begun = kPoolThreads);
  ~SeededWorkers() override;

  void Execute(std::shared_ptr<Job> job) override { Execute(std::move(job), 0); }
  // For one of several processes; 0 is nobody's.
  void Execute(std::shared_ptr<Job> job, uint32_t owner);
  bool idle() const { return queue_.empty() && begun_.empty(); }
  // Lets one of the jobs that wait, if any does, go on until it is left or done.
  void RunOne();
  // At a system call, whoever makes it.
  void AtCall();
  // Somebody cannot go on before another job has.
  void GiveWay();
  // Whether this is called from within a job, and whose it is.
  bool running() const { return running_ != nullptr; }
  uint32_t running_owner() const { return running_ != nullptr ? running_owner_ : 0; }
  // Every job that has begun, to its end.
  void Finish();
  // From outside of the jobs: those of `owner` get no further.
  void Abandon(uint32_t owner);
  // As Finish(), with those that were abandoned.
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

#endif  // DURLOG_TEST_CORE_CRASH_SEEDED_WORKERS_H_
