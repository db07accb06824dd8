// Faults in pages of a map ahead of the stores: one implementation for each system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "platform/posix_fault_guard.h"

namespace durlog {

// Makes the whole pages [start, start + size) present and writable. Safe while other threads store
// to them. `guard` watches the pages; `path` is used in the error only.
Status PopulatePages(uint8_t* start, size_t size, const FaultGuard& guard, const std::string& path);

// The same by touching a byte of each page, which works everywhere.
Status TouchPages(uint8_t* start, size_t size, const FaultGuard& guard, const std::string& path);

// The error for a page that the kernel cannot provide.
Status PageFault(const char* operation, const std::string& path);

}  // namespace durlog
