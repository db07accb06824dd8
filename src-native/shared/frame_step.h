// Reads the frame at a place of a segment that several writers append to, and finds the place of
// the next frame. Pure functions over mapped words.
#pragma once

#include <cstdint>

#include "record/record_format.h"
#include "shared/shared_segment.h"

namespace durlog {

// The first eight bytes of a frame that is reserved: {reserved, length}, and in place of the
// checksum the slot of its owner and the number of seqs that it takes. So the next frame's place
// and seq are known even if the owner dies.
inline constexpr uint64_t kMaxReservedSeqs = (uint64_t{1} << 24) - 1;
inline constexpr uint64_t kMaxReservedBytes =
    kFrameHeaderBytes + (kLengthMask & ~uint64_t{kFrameAlignment - 1});
// The number of a slot has eight bits. 0 is not used.
inline constexpr uint32_t kMaxSlot = 255;

// `frame_bytes` is a multiple of eight.
constexpr uint64_t ReservedWord(uint64_t frame_bytes, uint64_t seqs, uint32_t owner) {
  return (frame_bytes - kFrameHeaderBytes) |
         (uint64_t{static_cast<uint32_t>(FrameState::kReserved)} << kStateShift) |
         (uint64_t{owner} << 32) | (seqs << 40);
}
constexpr uint32_t OwnerOf(uint64_t reserved_word) {
  return static_cast<uint32_t>(reserved_word >> 32) & kMaxSlot;
}
constexpr uint64_t ReservedSeqsOf(uint64_t reserved_word) { return reserved_word >> 40; }

enum class StepKind : uint8_t {
  kFree,      // nothing is reserved from here on
  kReserved,  // by a writer that has not finished, or is dead
  kWhole,     // a record, a whole batch, or a frame without records
  kEnd,       // no frame fits in the rest of the segment
  kBad,       // bytes that no writer stores
};

struct FrameStep {
  StepKind kind = StepKind::kFree;
  uint64_t bytes = 0;
  uint64_t word = 0;  // as it was loaded
  // Not next to `bytes`: a compiler would load both at once right after they are stored one by one,
  // which a processor delays.
  uint64_t seqs = 0;
};

// Finds out which frame is at `offset`, where a frame begins or the last one has ended. If the
// frame is whole, all of its bytes are visible.
void StepAt(SharedSegment& segment, uint64_t offset, FrameStep* step);

// Replaces the reservation at `offset` with a void for the seqs from `seq` on. `step` is the result
// of StepAt() for this place. The owner must be unable to store any more. Any number of members may
// do this at the same time, because they store the same bytes.
void MakeVoid(SharedSegment& segment, uint64_t offset, uint64_t seq, const FrameStep& step);

}  // namespace durlog
