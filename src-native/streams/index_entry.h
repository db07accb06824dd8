// The index entry of a record: the end of the record in the stream's file, its time and its
// position, 6 bytes each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"

namespace durlog {

constexpr size_t kIndexEntryBytes = 18;
constexpr size_t kIndexTimeAt = 6;
constexpr size_t kIndexPositionAt = 12;

inline void Store48(uint8_t* to, uint64_t value) { std::memcpy(to, &value, 6); }

inline uint64_t Load48(const uint8_t* from) {
  return Load32(from) | uint64_t{from[4]} << 32 | uint64_t{from[5]} << 40;
}

}  // namespace durlog
