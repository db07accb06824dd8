#include "platform/overflow_threads.h"

#include <iterator>
#include <utility>

namespace durlog {
namespace {

// Without work, the watcher stays awake for some milliseconds, because waking it costs the thread
// that queues work some microseconds.
constexpr unsigned kQuietRounds = 16;
constexpr std::chrono::seconds kIdle{10};

}  // namespace

void OverflowThreads::Watch(std::shared_ptr<OverflowWork> work) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (stopping_) return;
  DropTaken();
  watched_.push_back({std::move(work), Clock::now() + kGrace});
  quiet_ = 0;
  EnsureWatcher();
}

bool OverflowThreads::Run(std::shared_ptr<OverflowWork> work) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (stopping_) return false;
  // Each waiting piece of work gets a thread. The last one gets the watcher.
  if (ready_.size() < idle_) {
    idle_wakes_.notify_one();
  } else if (watching_ && ready_.size() == idle_) {
    watcher_wakes_.notify_one();
  } else if (!StartThread() && threads_.empty()) {
    return false;
  }
  ready_.push_back(std::move(work));
  return true;
}

void OverflowThreads::Stop() {
  Threads threads;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    stopping_ = true;
    watched_.clear();
    ready_.clear();
    threads.splice(threads.end(), threads_);
    threads.splice(threads.end(), ended_);
  }
  watcher_wakes_.notify_all();
  idle_wakes_.notify_all();
  threads.clear();
}

void OverflowThreads::DropTaken() {
  while (!watched_.empty() && watched_.front().work->taken()) watched_.pop_front();
}

bool OverflowThreads::StartThread() {
  ended_.clear();
  if (threads_.size() >= kMaxThreads) return false;
  threads_.emplace_back();
  const Threads::iterator self = std::prev(threads_.end());
  Result<std::unique_ptr<Thread>> thread = Thread::Start([this, self] { Loop(self); });
  if (!thread.ok()) {
    threads_.erase(self);
    return false;
  }
  *self = std::move(*thread);
  ++idle_;
  return true;
}

void OverflowThreads::EnsureWatcher() {
  if (watching_) {
    if (asleep_) watcher_wakes_.notify_one();
  } else if (idle_ > ready_.size()) {
    idle_wakes_.notify_one();
  } else {
    StartThread();
  }
}

std::shared_ptr<OverflowWork> OverflowThreads::TakeWork() {
  if (!ready_.empty()) {
    std::shared_ptr<OverflowWork> work = std::move(ready_.front());
    ready_.pop_front();
    return work;
  }
  DropTaken();
  if (watched_.empty() || watched_.front().due > Clock::now()) return nullptr;
  std::shared_ptr<OverflowWork> work = std::move(watched_.front().work);
  watched_.pop_front();
  return work;
}

bool OverflowThreads::WaitIdle(std::unique_lock<std::mutex>* lock) {
  ++idle_;
  const bool woken = idle_wakes_.wait_for(*lock, kIdle) == std::cv_status::no_timeout;
  --idle_;
  return woken || !ready_.empty() || (!watching_ && !watched_.empty());
}

bool OverflowThreads::WaitForWork(std::unique_lock<std::mutex>* lock) {
  if (watching_) return WaitIdle(lock);
  watching_ = true;
  bool needed = true;
  if (!watched_.empty()) {
    // A copy: other threads may remove the entry during the wait.
    const auto due = watched_.front().due;
    watcher_wakes_.wait_until(*lock, due);
  } else if (quiet_ < kQuietRounds) {
    ++quiet_;
    watcher_wakes_.wait_for(*lock, kGrace);
  } else {
    asleep_ = true;
    watcher_wakes_.wait_for(*lock, kIdle);
    asleep_ = false;
    needed = !ready_.empty() || !watched_.empty();
  }
  watching_ = false;
  return needed;
}

void OverflowThreads::Loop(Threads::iterator self) {
  std::unique_lock<std::mutex> lock(mutex_);
  --idle_;
  while (!stopping_) {
    std::shared_ptr<OverflowWork> work = TakeWork();
    if (!work) {
      if (WaitForWork(&lock) || stopping_) continue;
      ended_.splice(ended_.end(), threads_, self);
      return;
    }
    // While it runs the work, this thread is not the watcher.
    if (!watched_.empty() && !watching_) EnsureWatcher();
    lock.unlock();
    if (work->TakeForOverflow()) work->RunInOverflow();
    work.reset();
    lock.lock();
  }
}

}  // namespace durlog
