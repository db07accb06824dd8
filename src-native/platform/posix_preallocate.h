// Allocating blocks ahead of the writes. Each system has its own AllocateBlocks() and size hint.
#ifndef DURLOG_PLATFORM_POSIX_PREALLOCATE_H_
#define DURLOG_PLATFORM_POSIX_PREALLOCATE_H_

#include <cstdint>
#include <string>

#include "base/status.h"
#include "platform/file_system.h"

namespace durlog {

// File::Allocate and File::SetExtentSizeHint; `path` is for the error only.
Status AllocateIn(int fd, const std::string& path, Preallocation how, uint64_t offset,
                  uint64_t length);
Status SetExtentSizeHintOf(int fd, const std::string& path, uint32_t bytes);

// The part of AllocateIn() that takes blocks: kFallocate, kKeepSize and kZeroRange.
Status AllocateBlocks(int fd, const std::string& path, Preallocation how, uint64_t offset,
                      uint64_t length);
// Sets the size to `end` unless the file is that long already: never cuts.
Status ExtendTo(int fd, const std::string& path, uint64_t end);

}  // namespace durlog

#endif  // DURLOG_PLATFORM_POSIX_PREALLOCATE_H_
