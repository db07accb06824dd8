// Letting others run while a thread waits for what they store or unlock. The tests that try every
// order of events put a header of their own in front of this one: test/core/schedules.
#ifndef DURLOG_BASE_YIELD_H_
#define DURLOG_BASE_YIELD_H_

#include <chrono>
#include <cstdint>
#include <thread>

namespace durlog {

inline void YieldThread() { std::this_thread::yield(); }
inline void SleepMicros(uint64_t micros) {
  std::this_thread::sleep_for(std::chrono::microseconds(micros));
}

}  // namespace durlog

#endif  // DURLOG_BASE_YIELD_H_
