// A word of a memory map that several processes and threads load and store. The tests in
// test/core/schedules, which try every order of these accesses, replace this header.
#pragma once

#include <atomic>
#include <cstdint>

namespace durlog {

using SharedWord = std::atomic<uint64_t>;
static_assert(sizeof(SharedWord) == sizeof(uint64_t), "the atomic is the word itself");
static_assert(SharedWord::is_always_lock_free, "a lock would be of one process only");

// Raises the word to the value, unless it is as high already.
inline void RaiseWord(SharedWord& word, uint64_t value) {
  uint64_t now = word.load(std::memory_order_relaxed);
  while (now < value && !word.compare_exchange_weak(now, value, std::memory_order_acq_rel,
                                                    std::memory_order_relaxed)) {
  }
}

}  // namespace durlog
