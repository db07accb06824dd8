// How the blocks of a segment are allocated before records are written to them.
#pragma once

#include <cstdint>

namespace durlog {

enum class Preallocation : uint8_t {
  kNone,       // the file grows as it is written
  kFallocate,  // blocks allocated, marked unwritten; the size is set
  kZero,       // zeros are written, so that a later write converts no extent
  kRecycle,    // a trimmed segment is reused; only reported, never requested
};

}  // namespace durlog
