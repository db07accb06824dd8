// The limit on segments that no sync has covered. It bounds the dirty page cache, the open files,
// and the bytes that the next open has to scan.
#pragma once

#include <cstdint>

namespace durlog {

// For the open files, if segments are small.
inline constexpr uint64_t kMaxUnsyncedSegments = 64;

// Whether no segment may be begun before a sync, if `segments` of `bytes` in all are not synced.
constexpr bool ReachesUnsyncedLimit(uint64_t segments, uint64_t bytes) {
  // The size of fewer segments does not matter.
  constexpr uint64_t kMinSegments = 4;
  constexpr uint64_t kMaxBytes = 256u << 20;
  return segments >= kMaxUnsyncedSegments || (segments >= kMinSegments && bytes >= kMaxBytes);
}

}  // namespace durlog
