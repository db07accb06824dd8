// The limit on segments that no sync has covered. It bounds the dirty page cache, the open files,
// and the bytes that the next open has to scan.
#pragma once

#include <cstdint>

namespace durlog {

// Bounds the number of open files if segments are small.
inline constexpr uint64_t kMaxUnsyncedSegments = 64;

// Whether a sync must come before the next segment is begun, if `segments` segments with `bytes`
// bytes in total are not synced.
constexpr bool ReachesUnsyncedLimit(uint64_t segments, uint64_t bytes) {
  // With fewer segments than this, their size does not matter.
  constexpr uint64_t kMinSegments = 4;
  constexpr uint64_t kMaxBytes = 256u << 20;
  return segments >= kMaxUnsyncedSegments || (segments >= kMinSegments && bytes >= kMaxBytes);
}

}  // namespace durlog
