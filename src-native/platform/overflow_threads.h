// Threads for work that the workers of a busy pool do not begin in time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <mutex>

#include "platform/thread.h"

namespace durlog {

// A piece of work that a pool and the overflow threads compete for.
class OverflowWork {
 public:
  virtual ~OverflowWork() = default;
  // Whether a worker of the pool, or an overflow thread, has taken it.
  virtual bool taken() const = 0;
  // Called by an overflow thread. False if a worker of the pool was faster.
  virtual bool TakeForOverflow() = 0;
  // After a successful TakeForOverflow(), on the same thread.
  virtual void RunInOverflow() = 0;
};

// In the normal case one thread sleeps, and looks at the work that is queued once a millisecond
// while there is any. Threads are started when they are needed, and end when they have been idle
// for some seconds. Every method but the destructor may be called by any thread.
class OverflowThreads {
 public:
  static constexpr std::chrono::milliseconds kGrace{1};
  static constexpr size_t kMaxThreads = 64;

  OverflowThreads() = default;
  ~OverflowThreads() { Stop(); }
  OverflowThreads(const OverflowThreads&) = delete;
  OverflowThreads& operator=(const OverflowThreads&) = delete;

  // Runs `work` if it has not been taken when kGrace has passed.
  void Watch(std::shared_ptr<OverflowWork> work);
  // Runs `work` as soon as a thread is free. False if the system has no thread left.
  bool Run(std::shared_ptr<OverflowWork> work);
  // Waits for the work that has begun. Other work is no longer run.
  void Stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    std::shared_ptr<OverflowWork> work;
    Clock::time_point due;
  };
  using Threads = std::list<std::unique_ptr<Thread>>;

  void Loop(Threads::iterator self);
  // The lock is held by the callers of these.
  void DropTaken();
  bool StartThread();
  void EnsureWatcher();
  std::shared_ptr<OverflowWork> TakeWork();
  // Returns false if the thread is no longer needed.
  bool WaitForWork(std::unique_lock<std::mutex>* lock);
  bool WaitIdle(std::unique_lock<std::mutex>* lock);

  std::mutex mutex_;
  std::condition_variable watcher_wakes_;
  std::condition_variable idle_wakes_;
  std::deque<Watched> watched_;  // the oldest first
  std::deque<std::shared_ptr<OverflowWork>> ready_;
  Threads threads_;
  Threads ended_;          // have only to be joined
  size_t idle_ = 0;        // threads that wait for work, or have just been started
  bool watching_ = false;  // one of the threads waits for the next piece of work to be due
  bool asleep_ = false;    // the watching thread waits until it is woken
  unsigned quiet_ = 0;     // how often in a row it has found no work to watch
  bool stopping_ = false;
};

}  // namespace durlog
