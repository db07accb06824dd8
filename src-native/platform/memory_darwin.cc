#include <sys/mman.h>

#include "platform/posix_memory.h"

namespace durlog {

// Safe in a signal handler: mmap() of the C library only makes the system call.
bool MapDeadPage(void* page, size_t page_bytes) {
  return mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1,
              0) == page;
}

// macOS has no call that populates pages for writing.
Status PopulatePages(uint8_t* start, size_t size, const FaultGuard& guard,
                     const std::string& path) {
  return TouchPages(start, size, guard, path);
}

// Not supported: os_sync_wait_on_address() exists since macOS 14.4, but durlog supports macOS 11.
bool WaitOnSharedWord(void*, uint32_t, uint64_t) { return false; }

void WakeOnSharedWord(void*) {}

}  // namespace durlog
