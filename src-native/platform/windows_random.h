// Random bits from the system.
#pragma once

#include <cstdint>

namespace durlog {

uint64_t SystemRandom64();

}  // namespace durlog
