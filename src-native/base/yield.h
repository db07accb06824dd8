// Yields the processor while a thread waits for another thread's store or unlock. The tests in
// test/core/schedules, which try every order of events, replace this header.
#pragma once

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

#include <chrono>
#include <cstdint>
#include <thread>

namespace durlog {

// Pauses for a few dozen cycles.
inline void SpinThread() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#elif defined(__GNUC__) || defined(__clang__)
  __asm__ __volatile__("yield");
#endif
}
inline void YieldThread() { std::this_thread::yield(); }
inline void SleepMicros(uint64_t micros) {
  std::this_thread::sleep_for(std::chrono::microseconds(micros));
}

}  // namespace durlog
