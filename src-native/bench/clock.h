// The clock for measurements: monotonic, and the same for all processes of the machine.
#pragma once

#include <time.h>

#include <cstdint>

namespace durlog::bench {

inline uint64_t NowNanos() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace durlog::bench
