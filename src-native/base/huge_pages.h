// Advice to the system about large allocations.
#ifndef DURLOG_BASE_HUGE_PAGES_H_
#define DURLOG_BASE_HUGE_PAGES_H_

#include <cstddef>

namespace durlog {

// Asks for huge pages in [memory, memory + bytes), which no thread has touched yet. The system may
// ignore it. Each system's platform file defines it.
void PreferHugePages(void* memory, size_t bytes);

}  // namespace durlog

#endif  // DURLOG_BASE_HUGE_PAGES_H_
