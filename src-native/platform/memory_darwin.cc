#include <sys/mman.h>

#include "platform/posix_memory.h"

namespace durlog {

// The C library's mmap() is no more than the system call.
bool MapDeadPage(void* page, size_t page_bytes) {
  return mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1,
              0) == page;
}

// No call of this system faults pages in for writing.
Status PopulatePages(uint8_t* start, size_t size, const FaultGuard& guard,
                     const std::string& path) {
  return TouchPages(start, size, guard, path);
}

// os_sync_wait_on_address() came with macOS 14.4; durlog runs on 11.
bool WaitOnSharedWord(void*, uint32_t, uint64_t) { return false; }

void WakeOnSharedWord(void*) {}

}  // namespace durlog
