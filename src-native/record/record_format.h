// The constants of the on-disk format, each once. docs/FORMAT.md describes them byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>

namespace durlog {

// A log that has one writer at a time has version 1. Version 2 adds the features that several
// writers of one segment need: reserved frames, voids, and times that may decrease.
inline constexpr uint32_t kExclusiveVersion = 1;
inline constexpr uint32_t kSharedVersion = 2;
inline constexpr uint32_t kNewestVersion = kSharedVersion;

// The limit of seqs: they are passed as JavaScript numbers.
inline constexpr uint64_t kMaxSeq = (uint64_t{1} << 53) - 1;

// Every frame starts on a multiple of this, so that its first word never straddles a sector and
// can be stored atomically.
inline constexpr size_t kFrameAlignment = 8;

// | word u32 | crc32c u32 | seq u64 | unsynced u32 | ms since base u32 | payload | 0..7 pad |
inline constexpr size_t kFrameHeaderBytes = 24;
inline constexpr size_t kFrameCrcOffset = 4;
inline constexpr size_t kFrameSeqOffset = 8;
inline constexpr size_t kFrameUnsyncedOffset = 16;
inline constexpr size_t kFrameTimeOffset = 20;

// The word: length in the low 28 bits, one flag, three bits of state. A word of zero is free space.
inline constexpr uint32_t kLengthMask = (1u << 28) - 1;
inline constexpr uint32_t kBatchContinuesFlag = 1u << 28;
inline constexpr uint32_t kStateShift = 29;

enum class FrameState : uint8_t {
  kFree = 0,       // nothing here yet
  kReserved = 1,   // taken by a writer that has not finished; the length already holds
  kCommitted = 2,  // a record
  kPadding = 3,    // skip it
  kMarker = 4,     // no record: its seq and unsynced fields carry the synced end
  kVoid = 5,       // no record: takes the seqs of a writer that died before it had finished
};

// Longest payload the format allows; `max_record_bytes` is usually far below.
inline constexpr uint32_t kMaxPayloadBytes = 128u << 20;

// Segment header: one block, with a second copy of the fields half-way, in case the first cannot be
// read.
inline constexpr size_t kSegmentHeaderBytes = 4096;
inline constexpr size_t kSegmentHeaderCopyOffset = 2048;
inline constexpr size_t kSegmentHeaderFieldBytes = 64;
// In the same block, each in another sector: two copies of the slot that states how far the log was
// synced.
inline constexpr size_t kSyncedSlotOffset = 1024;
inline constexpr size_t kSyncedSlotCopyOffset = 3072;
inline constexpr size_t kSyncedSlotBytes = 12;
// A whole number of blocks, at least one of them for records. Bounds what a hostile header can make
// an open allocate.
inline constexpr uint64_t kMinSegmentBytes = 2 * kSegmentHeaderBytes;
inline constexpr uint64_t kMaxSegmentBytes = uint64_t{1} << 30;
inline constexpr uint64_t kSegmentMagic = 0x0a0d474f4c525544;  // "DURLOG\r\n"

constexpr uint64_t FrameBytes(uint64_t payload_bytes) {
  return (kFrameHeaderBytes + payload_bytes + kFrameAlignment - 1) & ~(kFrameAlignment - 1);
}
// No record is shorter, as an empty payload is refused.
inline constexpr uint64_t kMinRecordFrameBytes = FrameBytes(1);

static_assert(kFrameHeaderBytes % kFrameAlignment == 0, "a payload starts aligned");
static_assert(kMaxPayloadBytes <= kLengthMask, "the length field holds every payload");

}  // namespace durlog
