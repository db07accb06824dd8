// Decides which thread runs a piece of work that a pool and the overflow threads compete for.
#pragma once

#include <atomic>
#include <cstdint>

namespace durlog {

// Each of the methods that take or give the work is atomic, so the work is run once, even if
// several overflow threads hold it.
class WorkClaim {
 public:
  bool taken() const { return owner_.load(std::memory_order_acquire) != Owner::kNone; }
  bool taken_by_pool() const { return owner_.load(std::memory_order_acquire) == Owner::kPool; }

  bool TakeForPool() { return Change(Owner::kNone, Owner::kPool); }
  // False if a worker of the pool, or another overflow thread, has the work.
  bool TakeForOverflow() {
    return Change(Owner::kNone, Owner::kOverflow) || Change(Owner::kHandedOver, Owner::kOverflow);
  }
  // Called by the worker that has the work: lets one overflow thread take it.
  void HandOver() { owner_.store(Owner::kHandedOver, std::memory_order_release); }
  // Called by that worker. False if an overflow thread was faster.
  bool TakeBack() { return Change(Owner::kHandedOver, Owner::kPool); }
  // Called by that worker after the work has ended: the end is reported as that of an overflow
  // thread.
  void DeliverEarly() { owner_.store(Owner::kOverflow, std::memory_order_release); }

 private:
  enum class Owner : uint8_t { kNone, kPool, kHandedOver, kOverflow };
  bool Change(Owner from, Owner to) {
    return owner_.compare_exchange_strong(from, to, std::memory_order_acq_rel);
  }

  std::atomic<Owner> owner_{Owner::kNone};
};

}  // namespace durlog
