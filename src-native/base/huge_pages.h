// Advice to the system about large allocations.
#pragma once

#include <cstddef>

namespace durlog {

// Asks for huge pages in [memory, memory + bytes), which no thread has touched yet. The system may
// ignore it. Each system's platform file defines it.
void PreferHugePages(void* memory, size_t bytes);

}  // namespace durlog
