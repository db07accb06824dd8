// What the page cache and the block map say of a file: one implementation for each system.
#ifndef DURLOG_PLATFORM_POSIX_CACHE_H_
#define DURLOG_PLATFORM_POSIX_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"

namespace durlog {

// As File::DropCache, File::NextData and File::ReadCachedAt. `path` is for the error only.
Status DropCacheOf(int fd, const std::string& path);
Result<uint64_t> NextDataOf(int fd, const std::string& path, uint64_t offset);
std::optional<size_t> ReadCachedOf(int fd, uint64_t offset, void* to, size_t length);

}  // namespace durlog

#endif  // DURLOG_PLATFORM_POSIX_CACHE_H_
