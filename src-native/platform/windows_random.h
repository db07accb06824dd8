// Random bits from the system.
#ifndef DURLOG_PLATFORM_WINDOWS_RANDOM_H_
#define DURLOG_PLATFORM_WINDOWS_RANDOM_H_

#include <cstdint>

namespace durlog {

uint64_t SystemRandom64();

}  // namespace durlog

#endif  // DURLOG_PLATFORM_WINDOWS_RANDOM_H_
