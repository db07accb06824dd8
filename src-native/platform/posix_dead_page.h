// The page that replaces one that faulted.
#ifndef DURLOG_PLATFORM_POSIX_DEAD_PAGE_H_
#define DURLOG_PLATFORM_POSIX_DEAD_PAGE_H_

#include <cstddef>

namespace durlog {

// Puts a private page of zeros at `page`, over whatever is mapped there. Safe in a signal handler.
bool MapDeadPage(void* page, size_t page_bytes);

}  // namespace durlog

#endif  // DURLOG_PLATFORM_POSIX_DEAD_PAGE_H_
