// Allocates blocks before they are written.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace durlog {

// File::Allocate and File::ZeroRange, one implementation for each system; `path` is for the error
// only.
Status AllocateIn(int fd, const std::string& path, uint64_t offset, uint64_t length);
Status ZeroRangeIn(int fd, const std::string& path, uint64_t offset, uint64_t length);

}  // namespace durlog
