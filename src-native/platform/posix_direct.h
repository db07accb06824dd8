// Writing past the page cache: one implementation for each system.
#pragma once

#include <string>

#include "base/status.h"

namespace durlog {

// What openat() takes for OpenMode::kDirectUnsynced, beside O_RDWR, and for OpenMode::kDirect more.
int DirectOpenFlags();
int DurableOpenFlags();
// After opening, before the first write.
Status PrepareDirect(int fd, const std::string& path);
// After each write to a file opened kDirect, which is durable once this has returned OK.
Status FinishDirectWrite(int fd, const std::string& path);

}  // namespace durlog
