#include "cursor/cursor_slot.h"

#include <cstring>

#include "base/bytes.h"
#include "checksum/crc32c.h"

namespace durlog {
namespace {

constexpr size_t kVersionAt = 8;
constexpr size_t kUuidAt = 16;
constexpr size_t kBootAt = 32;
constexpr size_t kCounterAt = 48;
constexpr size_t kGenerationAt = 56;
constexpr size_t kPositionAt = 64;
constexpr size_t kDurableAt = 72;
constexpr size_t kCrcAt = 80;
constexpr size_t kChecksumAt = 84;
constexpr size_t kProvenAt = 88;
static_assert(kProvenAt + 8 == kCursorSlotBytes, "the position of the proof ends a slot");

// Version 1 has no proof, and version 2 only one of the position itself. Both end with zeros.
uint32_t CrcOf(const uint8_t* slot, uint64_t version) {
  const uint32_t crc = Crc32c(0, slot, kCrcAt);
  if (version == 1) return crc;
  return Crc32c(crc, slot + kChecksumAt, version == 2 ? 4 : kCursorSlotBytes - kChecksumAt);
}

}  // namespace

void EncodeCursorSlot(const CursorSlot& slot, uint8_t to[kCursorSlotBytes]) {
  Store64(to, kCursorMagic);
  Store64(to + kVersionAt, kCursorVersion);
  std::memcpy(to + kUuidAt, slot.uuid.data(), slot.uuid.size());
  std::memcpy(to + kBootAt, slot.boot.data(), slot.boot.size());
  Store64(to + kCounterAt, slot.counter);
  Store64(to + kGenerationAt, slot.generation);
  Store64(to + kPositionAt, slot.position);
  Store64(to + kDurableAt, slot.durable);
  Store32(to + kChecksumAt, slot.proof.checksum);
  Store64(to + kProvenAt, slot.proof.position);
  Store32(to + kCrcAt, CrcOf(to, kCursorVersion));
}

CursorSlotState DecodeCursorSlot(const uint8_t from[kCursorSlotBytes], CursorSlot* slot) {
  if (Load64(from) != kCursorMagic) return CursorSlotState::kNone;
  const uint64_t version = Load64(from + kVersionAt);
  if (Load32(from + kCrcAt) != CrcOf(from, version)) return CursorSlotState::kNone;
  if (version > kCursorVersion) return CursorSlotState::kNewerVersion;
  if (version == 0) return CursorSlotState::kNone;
  std::memcpy(slot->uuid.data(), from + kUuidAt, slot->uuid.size());
  std::memcpy(slot->boot.data(), from + kBootAt, slot->boot.size());
  slot->counter = Load64(from + kCounterAt);
  slot->generation = Load64(from + kGenerationAt);
  slot->position = Load64(from + kPositionAt);
  slot->durable = Load64(from + kDurableAt);
  slot->proof = CursorProof{};
  if (version > 1) slot->proof.checksum = Load32(from + kChecksumAt);
  if (version > 2) slot->proof.position = Load64(from + kProvenAt);
  if (version == 2 && slot->proof.checksum != 0) slot->proof.position = slot->position;
  const bool in_range = slot->durable <= slot->position && slot->position <= kMaxSeq &&
                        slot->proof.position <= slot->position;
  return in_range ? CursorSlotState::kWhole : CursorSlotState::kNone;
}

}  // namespace durlog
