// The memory of one run. Everything that a run allocates is dropped at once, whatever state it was
// left in, and the state before the first turn is put back by one copy.
#ifndef DURLOG_TEST_CORE_SCHEDULES_ARENA_H_
#define DURLOG_TEST_CORE_SCHEDULES_ARENA_H_

#include <cstddef>

namespace durlog::schedules {

// There is one, behind operator new: arena.cc. Nothing in it is ever destroyed.
class Arena {
 public:
  // Everything in it is gone.
  static void Clear();
  // Puts back what was in it at the last Keep().
  static void Keep();
  static void Restore();
};

// While one lives, what is allocated is in the arena, or outside of it; the innermost counts.
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

#endif  // DURLOG_TEST_CORE_SCHEDULES_ARENA_H_
