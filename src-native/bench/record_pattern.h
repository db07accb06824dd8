// The content of measured records, by which a reader checks that a method kept all of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/status.h"

namespace durlog::bench {

inline constexpr uint32_t kRecordMagic = 0x6b726d42;
inline constexpr uint32_t kMaxWriters = 64;
// From so many bytes a record is stamped {u32 magic, u32 writer, u64 counter}; a shorter one is
// filled with a byte that is never zero and names its writer.
inline constexpr uint64_t kStampBytes = 16;
// From so many bytes its last eight repeat the counter: a half-written one is seen.
inline constexpr uint64_t kTailStampBytes = 24;
// Where mapped methods of several processes keep their shared append point.
inline constexpr uint64_t kSharedHeaderBytes = 4096;

// A record of `bytes` by `writer`, not yet numbered.
std::vector<uint8_t> MakeRecord(uint64_t bytes, uint32_t writer);

// Numbers it. `record` is what MakeRecord made, or a copy of it.
inline void StampRecord(uint8_t* record, uint64_t bytes, uint64_t counter) {
  if (bytes >= kStampBytes) std::memcpy(record + 8, &counter, sizeof counter);
  if (bytes >= kTailStampBytes) std::memcpy(record + bytes - 8, &counter, sizeof counter);
}

struct Verified {
  uint64_t records = 0;     // whole, each counter of each writer counted once
  uint64_t duplicates = 0;  // whole, but seen before
  uint64_t damaged = 0;     // slots that are neither empty nor whole
};

// Reads the file from `start` in slots of `stride` bytes, each of which holds one record.
Result<Verified> VerifyRecords(const std::string& path, uint64_t start, uint64_t stride,
                               uint64_t record_bytes);

}  // namespace durlog::bench
