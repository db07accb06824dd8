#include "platform/standby.h"

#include "base/yield.h"

namespace durlog {
namespace {

// If processors are free, a worker is delayed for about a hundredth of its stay.
constexpr int kMaxDelayedShare = 8;

}  // namespace

bool Standby::Enter() {
  if (!stay_.try_lock()) return false;
  if (closed_.load(std::memory_order_relaxed) || Clock::now() < paused_until_) {
    stay_.unlock();
    return false;
  }
  next_.store(&nothing_, std::memory_order_release);
  return true;
}

void Standby::Serve() {
  const std::lock_guard<std::mutex> stay(stay_, std::adopt_lock);
  const Clock::time_point begin = Clock::now();
  const Delay before = thread_delay_();
  while (Work* const work = Await()) {
    work->RunOnStandby();
    if (Clock::now() - begin >= kMaxStay) break;
    next_.store(&nothing_, std::memory_order_release);
  }
  const Delay after = thread_delay_();
  const Clock::time_point now = Clock::now();
  const bool scheduled = before && after && (*after - *before) * kMaxDelayedShare <= now - begin;
  if (!scheduled) paused_until_ = now + kPause;
}

// Returns null if nothing was offered in time. No Offer() can succeed after that.
Standby::Work* Standby::Await() {
  const Clock::time_point end = Clock::now() + kWait;
  while (waiting() && !closed_.load(std::memory_order_relaxed) && Clock::now() < end) SpinThread();
  Work* const work = next_.exchange(nullptr, std::memory_order_acq_rel);
  return work == &nothing_ ? nullptr : work;
}

void Standby::Close() {
  closed_.store(true, std::memory_order_relaxed);
  const std::lock_guard<std::mutex> left(stay_);
}

}  // namespace durlog
