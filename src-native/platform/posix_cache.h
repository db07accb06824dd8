// Queries of the page cache and the block map: one implementation for each system, next to those of
// PosixFile::DropCache(), CacheUseOf(), NextData(), NextHole(), ModifiedNanos() and ReadCachedAt().
#pragma once

#include "platform/posix_fd.h"

namespace durlog {

// As openat(), if the kernel needs nothing from the device. Invalid otherwise, or if the system has
// no such call.
ScopedFd OpenCachedOf(int folder, const char* name, int flags);

}  // namespace durlog
