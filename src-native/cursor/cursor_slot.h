// The file of a named cursor: four slots, each with a checksum. docs/FORMAT.md describes it byte by
// byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "platform/file_system.h"
#include "record/segment_header.h"

namespace durlog {

// A shorter file has never held an acknowledged position.
inline constexpr size_t kCursorFileBytes = 12288;
inline constexpr size_t kCursorSlotBytes = 96;
inline constexpr uint64_t kCursorMagic = 0x0a0d535255435544;  // "DUCURS\r\n"
inline constexpr uint32_t kCursorVersion = 3;

// The first two slots are written alternately in memory. The last two, each in a separate block of
// the device, are written alternately at `sync`, so that the last synced slot survives a power cut
// whatever happens to the others. The line of the file's lock precedes the first slot.
inline constexpr std::array<uint64_t, 4> kCursorSlotOffsets = {1024, 2048, 4096, 8192};
inline constexpr size_t kFirstSyncedSlot = 2;

// The checksum of a record that the cursor has passed. A log in which another record has its seq
// was replaced by an older copy.
struct CursorProof {
  uint64_t position = 0;  // right after that record; 0 if there is no proof
  uint32_t checksum = 0;
};

struct CursorSlot {
  LogUuid uuid{};
  BootId boot{};            // the boot in which it was stored
  uint64_t counter = 0;     // the slot with the highest counter is the newest
  uint64_t generation = 0;  // of the newest cut with which the position was compared
  uint64_t position = 0;    // the seq of the next record to read
  // The position after a power cut. No power cut can lose a record below it.
  uint64_t durable = 0;
  CursorProof proof;  // at or before `position`
};

void EncodeCursorSlot(const CursorSlot& slot, uint8_t to[kCursorSlotBytes]);

enum class CursorSlotState : uint8_t { kNone, kWhole, kNewerVersion };
CursorSlotState DecodeCursorSlot(const uint8_t from[kCursorSlotBytes], CursorSlot* slot);

}  // namespace durlog
