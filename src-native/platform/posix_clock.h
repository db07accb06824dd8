// The wall clock, as cheap as the system has it.
#ifndef DURLOG_PLATFORM_POSIX_CLOCK_H_
#define DURLOG_PLATFORM_POSIX_CLOCK_H_

#include <cstdint>

namespace durlog {

// Milliseconds since the Unix epoch.
uint64_t WallClockMs();

}  // namespace durlog

#endif  // DURLOG_PLATFORM_POSIX_CLOCK_H_
