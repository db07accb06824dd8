// Queries of the page cache and the block map: one implementation for each system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "platform/file_system.h"
#include "platform/posix_fd.h"

namespace durlog {

// As File::DropCache, File::CacheUseOf, File::NextData and File::ReadCachedAt. `path` is for the
// error only.
Status DropCacheOf(int fd, const std::string& path);
std::optional<CacheUse> TellCacheUse(int fd, uint64_t offset, uint64_t length);
Result<uint64_t> NextDataOf(int fd, const std::string& path, uint64_t offset);
std::optional<size_t> ReadCachedOf(int fd, uint64_t offset, void* to, size_t length);
// As openat(), if the kernel needs nothing from the device. Invalid otherwise, or if the system has
// no such call.
ScopedFd OpenCachedOf(int folder, const char* name, int flags);

}  // namespace durlog
