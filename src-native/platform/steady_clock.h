// The clock for how long something took.
#ifndef DURLOG_PLATFORM_STEADY_CLOCK_H_
#define DURLOG_PLATFORM_STEADY_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace durlog {

inline uint64_t SteadyMicros() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace durlog

#endif  // DURLOG_PLATFORM_STEADY_CLOCK_H_
