#include <sys/mman.h>

#include "platform/posix_dead_page.h"

namespace durlog {

// The C library's mmap() is no more than the system call.
bool MapDeadPage(void* page, size_t page_bytes) {
  return mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1,
              0) == page;
}

}  // namespace durlog
