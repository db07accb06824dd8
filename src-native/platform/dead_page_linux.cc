#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/posix_dead_page.h"

namespace durlog {

static_assert(sizeof(void*) == 8, "a 32-bit system needs SYS_mmap2 here");

bool MapDeadPage(void* page, size_t page_bytes) {
  // The call itself: mmap() of the C library may have been replaced by a sanitizer or a preloaded
  // library, whose bookkeeping is not made for signal handlers.
  const long mapped = syscall(SYS_mmap, page, page_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L);
  return mapped == reinterpret_cast<long>(page);
}

}  // namespace durlog
