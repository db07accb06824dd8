#include "base/huge_pages.h"

namespace durlog {

// macOS has no such advice.
void PreferHugePages(void*, size_t) {}

}  // namespace durlog
