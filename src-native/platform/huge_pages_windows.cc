#include "base/huge_pages.h"

namespace durlog {

// Large pages need a privilege on Windows.
void PreferHugePages(void*, size_t) {}

}  // namespace durlog
