// A worker that has ended a piece of work and waits some microseconds for the next one.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>

#include "base/yield.h"

namespace durlog {

// To wake a sleeping thread takes longer than all other steps of a small commit except the device's
// write. So if work follows work, a worker spins for a moment instead of sleeping. At most one
// worker is on standby. It leaves after kMaxStay, because other work of its pool may wait for it.
//
// A thread that spins is scheduled late after its next wait for the device if other threads need
// its processor. So the worker yields the processor first. If that takes longer than kLate, another
// thread has run; then the worker does not wait, and no worker enters for kPause.
class Standby {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kWait{50};
  static constexpr std::chrono::milliseconds kMaxStay{1};
  static constexpr std::chrono::microseconds kLate{10};
  static constexpr std::chrono::milliseconds kPause{10};

  class Work {
   public:
    virtual ~Work() = default;
    // Called once, on the worker's thread.
    virtual void RunOnStandby() = 0;
  };

  explicit Standby(void (*yield)() = YieldThread) : yield_(yield) {}
  Standby(const Standby&) = delete;
  Standby& operator=(const Standby&) = delete;

  // Whether an Offer() may succeed.
  bool waiting() const { return next_.load(std::memory_order_relaxed) == &nothing_; }
  // If it returns true, the worker runs `work`, which must exist until then.
  bool Offer(Work* work) {
    Work* expected = &nothing_;
    return next_.compare_exchange_strong(expected, work, std::memory_order_acq_rel);
  }

  // Called by a worker. If it returns true, the worker calls Serve().
  bool Enter();
  // Runs what is offered, until nothing was offered for kWait or kMaxStay has passed.
  void Serve();

  // Waits until the worker has left. From then on, Enter() and Offer() fail.
  void Close();

 private:
  class Nothing final : public Work {
    void RunOnStandby() override {}
  };

  Work* Await();

  void (*const yield_)();
  Nothing nothing_;
  std::atomic<Work*> next_{nullptr};  // null, what was offered, or &nothing_ while the worker waits
  std::atomic<bool> closed_{false};
  std::mutex stay_;                 // held by the worker on standby
  Clock::time_point paused_until_;  // Enter() fails until then
};

}  // namespace durlog
