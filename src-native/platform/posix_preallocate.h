// Allocating blocks ahead of the writes.
#ifndef DURLOG_PLATFORM_POSIX_PREALLOCATE_H_
#define DURLOG_PLATFORM_POSIX_PREALLOCATE_H_

#include <cstdint>
#include <string>

#include "base/status.h"

namespace durlog {

// File::Allocate and File::ZeroRange, one implementation for each system; `path` is for the error
// only.
Status AllocateIn(int fd, const std::string& path, uint64_t offset, uint64_t length);
Status ZeroRangeIn(int fd, const std::string& path, uint64_t offset, uint64_t length);

}  // namespace durlog

#endif  // DURLOG_PLATFORM_POSIX_PREALLOCATE_H_
