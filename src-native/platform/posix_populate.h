// Faulting pages of a map in ahead of the stores: one implementation for each system.
#ifndef DURLOG_PLATFORM_POSIX_POPULATE_H_
#define DURLOG_PLATFORM_POSIX_POPULATE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "platform/posix_fault_guard.h"

namespace durlog {

// Makes the whole pages [start, start + size) present and writable beside stores by other threads.
// `guard` watches them; `path` is for the error only.
Status PopulatePages(uint8_t* start, size_t size, const FaultGuard& guard, const std::string& path);

// The same by touching a byte of each page, which works everywhere.
Status TouchPages(uint8_t* start, size_t size, const FaultGuard& guard, const std::string& path);

// The error for a page that cannot be had.
Status PageFault(const char* operation, const std::string& path);

}  // namespace durlog

#endif  // DURLOG_PLATFORM_POSIX_POPULATE_H_
