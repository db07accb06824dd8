// The memory of one run. All allocations of a run are dropped at once, in any state, and one copy
// restores the state before the first turn.
#pragma once

#include <cstddef>

namespace durlog::schedules {

// There is one arena, which operator new uses: see arena.cc. No object in it is ever destroyed.
class Arena {
 public:
  // Drops all allocations.
  static void Clear();
  // Restores the contents at the last Keep().
  static void Keep();
  static void Restore();
};

// While an instance lives, allocations are made in the arena, or outside of it. The innermost
// instance decides.
class AllocatesIn {
 public:
  enum Where : bool { kOutside, kArena };
  explicit AllocatesIn(Where where);
  ~AllocatesIn();
  AllocatesIn(const AllocatesIn&) = delete;
  AllocatesIn& operator=(const AllocatesIn&) = delete;

 private:
  const Where before_;
};

}  // namespace durlog::schedules
