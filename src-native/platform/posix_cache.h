// Queries of the page cache and the block map, and writing past the page cache: one implementation
// for each system, next to those of PosixFile::DropCache(), CacheUseOf(), NextData(), NextHole(),
// ModifiedNanos() and ReadCachedAt().
#pragma once

#include <string>

#include "base/status.h"
#include "platform/posix_fd.h"

namespace durlog {

// As openat(), if the kernel needs nothing from the device. Invalid otherwise, or if the system has
// no such call.
ScopedFd OpenCachedOf(int folder, const char* name, int flags);

// The flags of openat() for OpenMode::kDirectUnsynced, in addition to O_RDWR, and the flags that
// OpenMode::kDirect adds to these.
int DirectOpenFlags();
int DurableOpenFlags();
// Must be called after opening, before the first write.
Status PrepareDirect(int fd, const std::string& path);

}  // namespace durlog
