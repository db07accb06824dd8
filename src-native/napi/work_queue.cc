#include "napi/work_queue.h"

#include <utility>

#include "platform/work_claim.h"

namespace durlog {
namespace {

// While the pool is busy, one job in each period of this length is also given to the pool.
constexpr std::chrono::milliseconds kProbeInterval{20};

}  // namespace

class WorkQueue::Task final : public OverflowWork,
                              public Standby::Work,
                              public std::enable_shared_from_this<Task> {
 public:
  Task(std::shared_ptr<WorkQueue> queue, std::shared_ptr<Job> job,
       std::function<void(napi_env)> done)
      : queue_(std::move(queue)), job_(std::move(job)), done_(std::move(done)) {}

  bool taken() const override { return claim_.taken(); }
  bool TakeForOverflow() override { return claim_.TakeForOverflow(); }
  void RunInOverflow() override {
    if (watched && !begun_in_pool_) queue_->pool_is_busy_.store(true, std::memory_order_relaxed);
    job_->RunOnce();
    queue_->OnRan(this);
  }
  void RunOnStandby() override {
    const std::shared_ptr<Task> held = shared_from_this();
    if (claim_.TakeForPool() && RunBriefly()) queue_->OnRan(this);
  }

  void RunInPool() {
    const bool in_time = Clock::now() - queued_at_ < OverflowThreads::kGrace;
    if (in_time) queue_->pool_is_busy_.store(false, std::memory_order_relaxed);
    if (!claim_.TakeForPool() || !RunBriefly() || !follows_work || !queue_->standby_.Enter())
      return;
    claim_.DeliverEarly();
    queue_->OnRan(this);
    queue_->standby_.Serve();
  }
  bool RanInPool() const { return claim_.taken_by_pool(); }
  // Prevents all threads from taking the task. False if a thread has taken it already.
  bool Cancel() { return claim_.TakeForPool(); }

  // The closure is destroyed on the environment's thread: other threads may hold the task longer.
  std::function<void(napi_env)> TakeDone() {
    job_.reset();
    return std::exchange(done_, nullptr);
  }
  const std::shared_ptr<WorkQueue>& queue() const { return queue_; }

  // Used on the environment's thread.
  napi_async_work work = nullptr;  // until it is completed
  bool delivered = false;
  bool holds_loop = false;
  Tasks::iterator place;
  // Set before another thread sees the task.
  bool watched = false;
  bool follows_work = false;  // queued directly after another job had ended

 private:
  // Called by a worker. Returns false if an overflow thread has to run the job again.
  bool RunBriefly() {
    if (job_->RunBriefly()) return true;
    begun_in_pool_ = true;
    claim_.HandOver();
    if (queue_->overflow_.Run(shared_from_this())) return false;
    if (claim_.TakeBack()) job_->RunOnce();
    return true;
  }

  const std::shared_ptr<WorkQueue> queue_;
  std::shared_ptr<Job> job_;
  std::function<void(napi_env)> done_;
  const Clock::time_point queued_at_ = Clock::now();
  WorkClaim claim_;
  bool begun_in_pool_ = false;  // written by the worker before it hands the work over
};

// A thread-safe function adds its cleanup hook when it is made. The hook of this queue is added
// later and therefore runs earlier, so that its threads end while they can still call the function.
bool WorkQueue::Start() {
  if (stopped_) return false;
  if (delivered_ != nullptr) return true;
  napi_value name;
  if (napi_create_string_latin1(env_, "durlog", NAPI_AUTO_LENGTH, &name) != napi_ok) return false;
  if (napi_create_threadsafe_function(env_, nullptr, nullptr, name, 0, 1, nullptr, nullptr, this,
                                      CallDelivered, &delivered_) != napi_ok) {
    delivered_ = nullptr;
    return false;
  }
  napi_unref_threadsafe_function(env_, delivered_);
  napi_add_env_cleanup_hook(env_, StopAtTeardown, this);
  return true;
}

void WorkQueue::StopAtTeardown(void* data) {
  // Keeps the queue alive, because the last task may own the last share of it.
  const std::shared_ptr<WorkQueue> queue = static_cast<WorkQueue*>(data)->shared_from_this();
  queue->stopped_ = true;
  queue->standby_.Close();
  queue->overflow_.Stop();
  napi_release_threadsafe_function(std::exchange(queue->delivered_, nullptr), napi_tsfn_abort);
  for (Tasks::iterator at = queue->tasks_.begin(); at != queue->tasks_.end();) {
    const std::shared_ptr<Task> task = *at++;
    // Node completes the work in the pool.
    if (task->work != nullptr) continue;
    queue->tasks_.erase(task->place);
    static_cast<void>(task->TakeDone());
  }
}

bool WorkQueue::GoesToPool(const Job& job) {
  if (job.waits()) return false;
  if (!pool_is_busy_.load(std::memory_order_relaxed)) return true;
  const Clock::time_point now = Clock::now();
  if (now < next_probe_) return false;
  next_probe_ = now + kProbeInterval;
  return true;
}

bool WorkQueue::TakenOnStandby(Task& task) {
  if (!standby_.waiting()) return false;
  HoldLoop(task);
  if (standby_.Offer(&task)) return true;
  ReleaseLoop(task);
  return false;
}

bool WorkQueue::Queue(std::shared_ptr<Job> queued, std::function<void(napi_env)> done) {
  if (!Start()) return false;
  Job& job = *queued;
  const auto task = std::make_shared<Task>(shared_from_this(), std::move(queued), std::move(done));
  task->follows_work = Clock::now() - finished_ < Standby::kWait;
  task->place = tasks_.insert(tasks_.end(), task);
  if (!job.waits() && TakenOnStandby(*task)) return true;
  bool in_pool = GoesToPool(job);
  const bool in_overflow = !in_pool || pool_is_busy_.load(std::memory_order_relaxed);
  task->watched = !in_overflow;
  if (in_pool) in_pool = QueueInPool(*task);
  if (in_pool && !in_overflow) {
    overflow_.Watch(task);
    return true;
  }
  if (overflow_.Run(task)) {
    if (!in_pool) HoldLoop(*task);
    return true;
  }
  // No overflow thread could be started.
  if (in_pool || QueueInPool(*task)) return true;
  tasks_.erase(task->place);
  return false;
}

bool WorkQueue::QueueInPool(Task& task) {
  napi_value name;
  if (napi_create_string_latin1(env_, "durlog", NAPI_AUTO_LENGTH, &name) != napi_ok) return false;
  if (napi_create_async_work(env_, nullptr, name, Execute, Complete, &task, &task.work) !=
      napi_ok) {
    task.work = nullptr;
    return false;
  }
  if (napi_queue_async_work(env_, task.work) == napi_ok) return true;
  napi_delete_async_work(env_, std::exchange(task.work, nullptr));
  return false;
}

void WorkQueue::Execute(napi_env, void* data) { static_cast<Task*>(data)->RunInPool(); }

void WorkQueue::Complete(napi_env env, napi_status status, void* data) {
  const std::shared_ptr<Task> task = static_cast<Task*>(data)->shared_from_this();
  const std::shared_ptr<WorkQueue> queue = task->queue();
  napi_delete_async_work(env, std::exchange(task->work, nullptr));
  const bool cancelled = status == napi_cancelled && task->Cancel();
  if (task->delivered) {
    queue->tasks_.erase(task->place);
  } else if (cancelled || task->RanInPool() || queue->stopped_) {
    queue->Finish(*task);
  } else {
    queue->HoldLoop(*task);
  }
}

void WorkQueue::OnRan(Task* task) {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    ran_.push_back(task);
  }
  static_cast<void>(napi_call_threadsafe_function(delivered_, nullptr, napi_tsfn_nonblocking));
}

// One task for each call: an exception of one task must not be pending when another is delivered.
// The environment is null while the function is being released.
void WorkQueue::CallDelivered(napi_env env, napi_value, void* context, void*) {
  if (env == nullptr) return;
  const std::shared_ptr<WorkQueue> queue = static_cast<WorkQueue*>(context)->shared_from_this();
  Task* task = nullptr;
  {
    const std::lock_guard<std::mutex> guard(queue->mutex_);
    if (queue->stopped_ || queue->ran_.empty()) return;
    task = queue->ran_.front();
    queue->ran_.pop_front();
  }
  queue->Deliver(*task);
}

void WorkQueue::Deliver(Task& task) {
  task.delivered = true;
  ReleaseLoop(task);
  // If a worker has already taken it, the worker finds nothing to do, and the work completes soon.
  if (task.work != nullptr) static_cast<void>(napi_cancel_async_work(env_, task.work));
  Finish(task);
}

void WorkQueue::Finish(Task& finished) {
  const std::shared_ptr<Task> task = finished.shared_from_this();
  const std::function<void(napi_env)> done = task->TakeDone();
  finished_ = Clock::now();
  if (task->work == nullptr) tasks_.erase(task->place);
  done(env_);
}

void WorkQueue::HoldLoop(Task& task) {
  task.holds_loop = true;
  if (loop_holders_++ == 0) napi_ref_threadsafe_function(env_, delivered_);
}

void WorkQueue::ReleaseLoop(Task& task) {
  if (!std::exchange(task.holds_loop, false)) return;
  if (--loop_holders_ == 0) napi_unref_threadsafe_function(env_, delivered_);
}

}  // namespace durlog
