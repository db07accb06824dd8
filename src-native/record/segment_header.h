// The 4 KiB block at the start of every segment, and the identity that binds its records to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "record/record_format.h"

namespace durlog {

using LogUuid = std::array<uint8_t, 16>;

std::string FormatUuid(const LogUuid& uuid);
// nullopt unless the text has the form that FormatUuid() returns.
std::optional<LogUuid> ParseUuid(const std::string& text);

// Written and synced before the file gets a segment's name, and never changed: a crash therefore
// never damages a header. The first seq is in the file name and in the first record, whose checksum
// covers it, and not in the header: so a rename turns a spare into a segment.
struct SegmentHeader {
  LogUuid uuid{};              // the log it belongs to
  uint64_t salt = 0;           // random for each activation, so that stale records fail
  uint64_t base_time_ms = 0;   // since the Unix epoch; record times are relative to it
  uint64_t segment_bytes = 0;  // no frame reaches past this
  bool recycled = false;       // after the last record there may be stale bytes, not zeros
  uint32_t version = kExclusiveVersion;
  // The content of the slot when the file gets its name: every record of the log below it is on the
  // device. Decoding leaves it 0, because the slot changes: see ReadSyncedSlot().
  uint64_t synced_end = 0;

  // The initial value of every frame's checksum.
  uint32_t crc_seed() const;
};

void EncodeSegmentHeader(const SegmentHeader& header, uint8_t block[kSegmentHeaderBytes]);

struct DecodedSegmentHeader {
  SegmentHeader header;
  bool copies_differ = false;
};

// Writes one copy of the slot: the synced end, and a checksum that binds it to the segment.
void EncodeSyncedSlot(uint64_t synced_end, uint32_t crc_seed, uint8_t slot[kSyncedSlotBytes]);
// The content of the first good copy in `block`; 0 if neither is good.
uint64_t DecodeSyncedSlot(const uint8_t block[kSegmentHeaderBytes], uint32_t crc_seed);

// kCorrupt if neither copy is whole, kVersion if a newer version wrote it.
Result<DecodedSegmentHeader> DecodeSegmentHeader(const uint8_t* block, size_t available);

}  // namespace durlog
