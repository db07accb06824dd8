#include "platform/standby.h"

namespace durlog {

bool Standby::Enter() {
  if (!stay_.try_lock()) return false;
  if (!closed_.load(std::memory_order_relaxed) && Clock::now() >= paused_until_) return true;
  stay_.unlock();
  return false;
}

void Standby::Serve() {
  const std::lock_guard<std::mutex> stay(stay_, std::adopt_lock);
  const Clock::time_point begin = Clock::now();
  yield_();
  const Clock::time_point now = Clock::now();
  if (now - begin > kLate) {
    paused_until_ = now + kPause;
    return;
  }
  do {
    next_.store(&nothing_, std::memory_order_release);
    Work* const work = Await();
    if (work == nullptr) return;
    work->RunOnStandby();
  } while (Clock::now() - begin < kMaxStay);
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
