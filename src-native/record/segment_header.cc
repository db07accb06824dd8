#include "record/segment_header.h"

#include <cstring>

#include "base/bytes.h"
#include "checksum/crc32c.h"

namespace durlog {
namespace {

constexpr size_t kVersionOffset = 8;
constexpr size_t kHeaderBytesOffset = 12;
constexpr size_t kUuidOffset = 16;
constexpr size_t kSaltOffset = 32;
constexpr size_t kBaseTimeOffset = 40;
constexpr size_t kSegmentBytesOffset = 48;
constexpr size_t kFlagsOffset = 56;
constexpr size_t kCrcOffset = 60;
constexpr uint32_t kRecycledFlag = 1;
static_assert(kCrcOffset + 4 == kSegmentHeaderFieldBytes, "the checksum ends the fields");

bool IsPossibleSize(uint64_t segment_bytes) {
  return segment_bytes >= kMinSegmentBytes && segment_bytes <= kMaxSegmentBytes &&
         segment_bytes % kSegmentHeaderBytes == 0;
}

enum class CopyState : uint8_t { kWhole, kDamaged, kNewer };

CopyState DecodeCopy(const uint8_t* fields, SegmentHeader* header) {
  if (Load64(fields) != kSegmentMagic) return CopyState::kDamaged;
  if (Crc32c(0, fields, kCrcOffset) != Load32(fields + kCrcOffset)) return CopyState::kDamaged;
  header->version = Load32(fields + kVersionOffset);
  if (header->version > kNewestVersion) return CopyState::kNewer;
  if (header->version == 0) return CopyState::kDamaged;
  if (Load32(fields + kHeaderBytesOffset) != kSegmentHeaderBytes) return CopyState::kDamaged;
  if (!IsPossibleSize(Load64(fields + kSegmentBytesOffset))) return CopyState::kDamaged;
  std::memcpy(header->uuid.data(), fields + kUuidOffset, header->uuid.size());
  header->salt = Load64(fields + kSaltOffset);
  header->base_time_ms = Load64(fields + kBaseTimeOffset);
  header->segment_bytes = Load64(fields + kSegmentBytesOffset);
  header->recycled = (Load32(fields + kFlagsOffset) & kRecycledFlag) != 0;
  return CopyState::kWhole;
}

bool HasHyphenBefore(size_t byte) { return byte == 4 || byte == 6 || byte == 8 || byte == 10; }

}  // namespace

std::string FormatUuid(const LogUuid& uuid) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < uuid.size(); ++i) {
    if (HasHyphenBefore(i)) text += '-';
    text += kHex[uuid[i] >> 4];
    text += kHex[uuid[i] & 15];
  }
  return text;
}

std::optional<LogUuid> ParseUuid(const std::string& text) {
  static const std::string kHex = "0123456789abcdef";
  LogUuid uuid{};
  if (text.size() != FormatUuid(uuid).size()) return std::nullopt;
  size_t at = 0;
  for (size_t i = 0; i < uuid.size(); ++i, at += 2) {
    if (HasHyphenBefore(i)) ++at;
    uuid[i] = static_cast<uint8_t>((kHex.find(text[at]) << 4) | (kHex.find(text[at + 1]) & 15));
  }
  // Formatting the result again finds characters that were parsed as if they were hexadecimal.
  if (FormatUuid(uuid) != text) return std::nullopt;
  return uuid;
}

uint32_t SegmentHeader::crc_seed() const {
  uint8_t bytes[8];
  Store64(bytes, salt);
  return Crc32c(Crc32c(0, uuid.data(), uuid.size()), bytes, sizeof bytes);
}

void EncodeSegmentHeader(const SegmentHeader& header, uint8_t block[kSegmentHeaderBytes]) {
  std::memset(block, 0, kSegmentHeaderBytes);
  Store64(block, kSegmentMagic);
  Store32(block + kVersionOffset, header.version);
  Store32(block + kHeaderBytesOffset, kSegmentHeaderBytes);
  std::memcpy(block + kUuidOffset, header.uuid.data(), header.uuid.size());
  Store64(block + kSaltOffset, header.salt);
  Store64(block + kBaseTimeOffset, header.base_time_ms);
  Store64(block + kSegmentBytesOffset, header.segment_bytes);
  Store32(block + kFlagsOffset, header.recycled ? kRecycledFlag : 0);
  Store32(block + kCrcOffset, Crc32c(0, block, kCrcOffset));
  std::memcpy(block + kSegmentHeaderCopyOffset, block, kSegmentHeaderFieldBytes);
  if (header.synced_end == 0) return;
  for (const size_t at : {kSyncedSlotOffset, kSyncedSlotCopyOffset}) {
    EncodeSyncedSlot(header.synced_end, header.crc_seed(), block + at);
  }
}

void EncodeSyncedSlot(uint64_t synced_end, uint32_t crc_seed, uint8_t slot[kSyncedSlotBytes]) {
  Store64(slot, synced_end);
  Store32(slot + sizeof synced_end, Crc32c(crc_seed, slot, sizeof synced_end));
}

uint64_t DecodeSyncedSlot(const uint8_t block[kSegmentHeaderBytes], uint32_t crc_seed) {
  for (const size_t at : {kSyncedSlotOffset, kSyncedSlotCopyOffset}) {
    const uint64_t synced_end = Load64(block + at);
    const uint32_t crc = Crc32c(crc_seed, block + at, sizeof synced_end);
    if (Load32(block + at + sizeof synced_end) == crc) return synced_end;
  }
  return 0;
}

Result<DecodedSegmentHeader> DecodeSegmentHeader(const uint8_t* block, size_t available) {
  if (available < kSegmentHeaderBytes) {
    return Status::Error(Code::kCorrupt, "the segment is shorter than its header");
  }
  DecodedSegmentHeader decoded;
  SegmentHeader second;
  const CopyState first_state = DecodeCopy(block, &decoded.header);
  const CopyState second_state = DecodeCopy(block + kSegmentHeaderCopyOffset, &second);
  if (first_state == CopyState::kNewer || second_state == CopyState::kNewer) {
    return Status::Error(
        Code::kVersion, "the segment was written by a newer version of durlog: upgrade to read it");
  }
  if (first_state != CopyState::kWhole && second_state != CopyState::kWhole) {
    return Status::Error(Code::kCorrupt, "both copies of the segment's header are damaged");
  }
  if (first_state != CopyState::kWhole) decoded.header = second;
  decoded.copies_differ =
      std::memcmp(block, block + kSegmentHeaderCopyOffset, kSegmentHeaderFieldBytes) != 0;
  return decoded;
}

}  // namespace durlog
