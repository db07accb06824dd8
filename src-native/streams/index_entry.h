// The index entry of a record: the end of the record in the stream's file, its time and its
// position, 6 bytes each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace durlog {

constexpr size_t kIndexEntryBytes = 18;
constexpr size_t kIndexTimeAt = 6;

inline void Store48(uint64_t value, std::vector<uint8_t>* to) {
  for (int shift = 0; shift < 48; shift += 8) to->push_back(static_cast<uint8_t>(value >> shift));
}

inline uint64_t Load48(const uint8_t* from) {
  return Load32(from) | uint64_t{from[4]} << 32 | uint64_t{from[5]} << 40;
}

}  // namespace durlog
