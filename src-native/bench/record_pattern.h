// The content of measured records. With it, a reader checks that a method has kept all records.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/status.h"

namespace durlog::bench {

inline constexpr uint32_t kRecordMagic = 0x6b726d42;
inline constexpr uint32_t kMaxWriters = 64;
// A record of at least this length begins with {u32 magic, u32 writer, u64 counter}. A shorter one
// is filled with a byte that is never zero and identifies its writer.
inline constexpr uint64_t kStampBytes = 16;
// In a record of at least this length, the last eight bytes repeat the counter, so that a record
// that was only partly written is detected.
inline constexpr uint64_t kTailStampBytes = 24;
// The offset at which mapped methods of several processes keep their shared append point.
inline constexpr uint64_t kSharedHeaderBytes = 4096;

// A record of `bytes` by `writer`, not yet numbered.
std::vector<uint8_t> MakeRecord(uint64_t bytes, uint32_t writer);

// Sets the counter of `record`, which is a result of MakeRecord() or a copy of one.
inline void StampRecord(uint8_t* record, uint64_t bytes, uint64_t counter) {
  if (bytes >= kStampBytes) std::memcpy(record + 8, &counter, sizeof counter);
  if (bytes >= kTailStampBytes) std::memcpy(record + bytes - 8, &counter, sizeof counter);
}

struct Verified {
  uint64_t records = 0;     // whole records; each counter of each writer counts once
  uint64_t duplicates = 0;  // whole records whose counter was found before
  uint64_t damaged = 0;     // slots that are neither empty nor whole
};

// Reads the file from `start` in slots of `stride` bytes, each of which holds one record.
Result<Verified> VerifyRecords(const std::string& path, uint64_t start, uint64_t stride,
                               uint64_t record_bytes);

}  // namespace durlog::bench
