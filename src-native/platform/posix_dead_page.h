// The page that replaces one that faulted.
#pragma once

#include <cstddef>

namespace durlog {

// Puts a private page of zeros at `page`, over whatever is mapped there. Safe in a signal handler.
bool MapDeadPage(void* page, size_t page_bytes);

}  // namespace durlog
