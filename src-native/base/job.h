// A piece of blocking work that some thread runs exactly once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace durlog {

// A worker calls RunOnce() or RunBriefly(). An owner that cannot wait calls Await(), which runs the
// job in the call if no worker has begun it, so the owner never waits for a busy pool. Everything
// that Run() has written may be read once done() has returned true, or Await() has returned.
class Job {
 public:
  virtual ~Job() = default;
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void RunOnce() {
    if (!Claim()) return;
    Run();
    Leave(kDone);
  }

  // As RunOnce(), on a thread that other work needs. Returns false if the job has to wait for
  // another process: the job has not ended then, and must be run again on a thread that may wait.
  bool RunBriefly() {
    if (!Claim()) return true;
    brief_ = true;
    Run();
    brief_ = false;
    const bool ended = !std::exchange(unfinished_, false);
    Leave(ended ? kDone : kQueued);
    return ended;
  }

  void Await() {
    for (;;) {
      RunOnce();
      if (done()) return;
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return state_.load(std::memory_order_acquire) != kRunning; });
    }
  }

  // True if the job usually waits, for example for other processes. It must not run on a thread
  // that other work needs.
  virtual bool waits() const { return false; }

  bool done() const { return state_.load(std::memory_order_acquire) == kDone; }

  // A job that checks cancelled() ends soon after this call, whether or not its work is done.
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }

 protected:
  virtual void Run() = 0;
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  // Called by Run() when it has waited for another process for some time. If it returns true, Run()
  // returns at once, and is called again on a thread that may wait.
  bool MustLeaveThread() {
    unfinished_ = brief_;
    return brief_;
  }
  // MustLeaveThread() has returned true.
  bool leaves_thread() const { return unfinished_; }

 private:
  enum State { kQueued, kRunning, kDone };
  bool Claim() {
    State expected = kQueued;
    return state_.compare_exchange_strong(expected, kRunning, std::memory_order_acq_rel);
  }
  void Leave(State state) {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      state_.store(state, std::memory_order_release);
    }
    changed_.notify_all();
  }
  std::atomic<State> state_{kQueued};
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  // Used only by the thread that runs the job.
  bool brief_ = false;
  bool unfinished_ = false;
};

}  // namespace durlog
