// Calls on mapped pages that differ between systems: one implementation for each system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "platform/posix_fault_guard.h"

namespace durlog {

// Maps a private page of zeros at `page`, in place of the present mapping. Safe in a signal
// handler.
bool MapDeadPage(void* page, size_t page_bytes);

// Makes the whole pages [start, start + size) present and writable. Safe while other threads store
// to them. `guard` watches the pages; `path` is used in the error only.
Status PopulatePages(uint8_t* start, size_t size, const FaultGuard& guard, const std::string& path);

// The same, by touching a byte of each page. This works on every system.
Status TouchPages(uint8_t* start, size_t size, const FaultGuard& guard, const std::string& path);

// The error for a page that the kernel cannot provide.
Status PageFault(const char* operation, const std::string& path);

// As Mapping::WaitOn() and Mapping::WakeOn(), for the word at `address` of a shared mapping.
bool WaitOnSharedWord(void* address, uint32_t value, uint64_t micros);
void WakeOnSharedWord(void* address);

}  // namespace durlog
