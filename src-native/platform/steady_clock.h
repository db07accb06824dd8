// The clock for measuring durations.
#pragma once

#include <chrono>
#include <cstdint>

namespace durlog {

inline uint64_t SteadyMicros() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace durlog
