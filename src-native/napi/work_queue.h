// Jobs on libuv's workers, and on other threads if these are busy.
#pragma once

#include <node_api.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "base/job.h"
#include "platform/overflow_threads.h"
#include "platform/standby.h"

namespace durlog {

// The queue of one environment. Used on the environment's thread, except by its tasks.
//
// Usually, a worker of libuv's pool runs a job. The pool is shared with everything else in the
// process: if no worker has begun the job within OverflowThreads::kGrace, a thread of this queue
// runs it. While the pool is busy, jobs go to these threads at once; some are also queued in the
// pool, to find out when it is free again. Jobs that wait for other processes also go to these
// threads, because they must not occupy a worker.
//
// If a job is queued directly after another has ended, the worker that runs it stays for a moment,
// and takes the next job at once: see Standby.
class WorkQueue final : public std::enable_shared_from_this<WorkQueue> {
 public:
  explicit WorkQueue(napi_env env) : env_(env) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Runs `queued`, unless another thread awaits it first, and then calls `done` on the
  // environment's thread. False if the environment takes no more work; then neither happens.
  bool Queue(std::shared_ptr<Job> queued, std::function<void(napi_env)> done);

 private:
  class Task;
  using Tasks = std::list<std::shared_ptr<Task>>;
  using Clock = std::chrono::steady_clock;

  static void Execute(napi_env env, void* task);
  static void Complete(napi_env env, napi_status status, void* task);
  static void CallDelivered(napi_env env, napi_value function, void* context, void* data);
  static void StopAtTeardown(void* queue);

  bool Start();
  bool TakenOnStandby(Task& task);
  bool GoesToPool(const Job& job);
  bool QueueInPool(Task& task);
  void Deliver(Task& task);
  void Finish(Task& task);
  void HoldLoop(Task& task);
  void ReleaseLoop(Task& task);
  void OnRan(Task* task);

  const napi_env env_;
  Tasks tasks_;  // that are in the pool, in an overflow thread, or not delivered yet
  napi_threadsafe_function delivered_ = nullptr;
  size_t loop_holders_ = 0;
  bool stopped_ = false;
  Clock::time_point next_probe_;
  Clock::time_point finished_;  // when the last job ended
  OverflowThreads overflow_;
  Standby standby_;

  // Shared with the tasks on other threads.
  std::atomic<bool> pool_is_busy_{false};
  std::mutex mutex_;
  std::list<Task*> ran_;
};

}  // namespace durlog
