// What the page cache and the block map say of a file: one implementation for each system.
#ifndef DURLOG_PLATFORM_POSIX_CACHE_H_
#define DURLOG_PLATFORM_POSIX_CACHE_H_

#include <cstdint>
#include <string>

#include "base/status.h"

namespace durlog {

// As File::DropCache and File::NextData. `path` is for the error only.
Status DropCacheOf(int fd, const std::string& path);
Result<uint64_t> NextDataOf(int fd, const std::string& path, uint64_t offset);

}  // namespace durlog

#endif  // DURLOG_PLATFORM_POSIX_CACHE_H_
