// Writing past the page cache: one implementation for each system.
#pragma once

#include <string>

#include "base/status.h"

namespace durlog {

// The flags of openat() for OpenMode::kDirectUnsynced, in addition to O_RDWR, and the flags that
// OpenMode::kDirect adds to these.
int DirectOpenFlags();
int DurableOpenFlags();
// Must be called after opening, before the first write.
Status PrepareDirect(int fd, const std::string& path);

}  // namespace durlog
