// A piece of blocking work that some thread runs exactly once.
#ifndef DURLOG_BASE_JOB_H_
#define DURLOG_BASE_JOB_H_

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace durlog {

// A worker calls RunOnce(). An owner that cannot wait calls Await(), which runs the job in the call
// if no worker has begun it, so the owner never waits for a busy pool. What Run() writes may be
// read once done() has returned true, or Await() has returned.
class Job {
 public:
  virtual ~Job() = default;
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void RunOnce() {
    if (!Claim()) return;
    Run();
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      state_.store(kDone, std::memory_order_release);
    }
    finished_.notify_all();
  }

  void Await() {
    RunOnce();
    if (done()) return;
    std::unique_lock<std::mutex> lock(mutex_);
    finished_.wait(lock, [this] { return done(); });
  }

  bool done() const { return state_.load(std::memory_order_acquire) == kDone; }

  // A job that asks whether it is cancelled ends soon, with or without its work done.
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }

 protected:
  virtual void Run() = 0;
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  enum State { kQueued, kRunning, kDone };
  bool Claim() {
    State expected = kQueued;
    return state_.compare_exchange_strong(expected, kRunning, std::memory_order_acq_rel);
  }
  std::atomic<State> state_{kQueued};
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::condition_variable finished_;
};

}  // namespace durlog

#endif  // DURLOG_BASE_JOB_H_
