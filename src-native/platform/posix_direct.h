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
// Must be called after each write to a file opened kDirect. The write is durable once this has
// returned OK.
Status FinishDirectWrite(int fd, const std::string& path);

}  // namespace durlog
