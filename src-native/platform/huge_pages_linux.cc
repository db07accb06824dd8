#include <sys/mman.h>

#include "base/huge_pages.h"

namespace durlog {

void PreferHugePages(void* memory, size_t bytes) { madvise(memory, bytes, MADV_HUGEPAGE); }

}  // namespace durlog
