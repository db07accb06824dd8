// The wall clock, as cheap as the system has it.
#pragma once

#include <cstdint>

namespace durlog {

// Milliseconds since the Unix epoch.
uint64_t WallClockMs();

}  // namespace durlog
