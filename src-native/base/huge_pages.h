// Advice to the system about large allocations.
#pragma once

#include <cstddef>

namespace durlog {

// Requests huge pages for [memory, memory + bytes), which no thread has touched yet. The system may
// ignore the request. Each system's platform file defines this function.
void PreferHugePages(void* memory, size_t bytes);

}  // namespace durlog
