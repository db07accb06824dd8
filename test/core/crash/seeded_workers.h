// Workers whose moments are drawn from a seed, all on the one thread: a job may begin at once or
// late, ahead of an older one, and stop at any of its system calls while others go on.
#ifndef DURLOG_TEST_CORE_CRASH_SEEDED_WORKERS_H_
#define DURLOG_TEST_CORE_CRASH_SEEDED_WORKERS_H_

#include <memory>
#include <vector>

#include "base/executor.h"
#include "base/job.h"
#include "fiber.h"
#include "random.h"

namespace durlog::crash {

// The newest is the one whose session is running; they come and go like a stack.
class SeededWorkers final : public Executor {
 public:
  // How many in a hundred: jobs that begin within Execute(); system calls at which a job is left,
  // and at which the log's own thread lets one go on.
  SeededWorkers(uint64_t seed, uint32_t percent_at_once, uint32_t percent_switch);
  ~SeededWorkers() override;

  void Execute(std::shared_ptr<Job> job) override;
  bool idle() const { return queue_.empty() && begun_.empty(); }
  // Lets one of the jobs that wait, if any does, go on until it is left or done.
  void RunOne();
  // At a system call, whoever makes it.
  void AtCall();
  // Somebody cannot go on before another job has.
  void GiveWay();
  // Every job that has begun, to its end.
  void Finish();

 private:
  static constexpr size_t kMaxBegun = 4;  // as libuv's pool has threads

  void Resume(size_t index);

  Random random_;
  const uint32_t percent_at_once_;
  const uint32_t percent_switch_;
  SeededWorkers* const previous_;
  std::vector<std::shared_ptr<Job>> queue_;
  std::vector<std::unique_ptr<Fiber>> begun_;
  Fiber* running_ = nullptr;
};

}  // namespace durlog::crash

#endif  // DURLOG_TEST_CORE_CRASH_SEEDED_WORKERS_H_
