#include "record/record_codec.h"

#include "checksum/crc32c.h"

namespace durlog {
namespace {

bool HasPlausibleLength(const FrameFields& fields) {
  switch (fields.state) {
    case FrameState::kMarker: return fields.length == 0;
    case FrameState::kPadding: return true;
    case FrameState::kVoid:
      // A void is at least as long as the smallest frames for the seqs that it takes.
      return uint64_t{fields.unsynced} * kMinRecordFrameBytes <= fields.frame_bytes();
    default: return fields.length > 0 && fields.length <= kMaxPayloadBytes;
  }
}

}  // namespace

// The checksum covers the header with its own field zero.
uint32_t HeaderCrc(uint32_t crc_seed, const uint8_t header[kFrameHeaderBytes]) {
  uint8_t zeroed[kFrameHeaderBytes];
  std::memcpy(zeroed, header, sizeof zeroed);
  Store32(zeroed + kFrameCrcOffset, 0);
  return Crc32c(crc_seed, zeroed, sizeof zeroed);
}

FrameFields PeekFrame(const uint8_t header[kFrameHeaderBytes]) {
  const uint32_t word = Load32(header);
  FrameFields fields;
  fields.state = static_cast<FrameState>(word >> kStateShift);
  fields.batch_continues = (word & kBatchContinuesFlag) != 0;
  fields.length = word & kLengthMask;
  fields.seq = Load64(header + kFrameSeqOffset);
  fields.unsynced = Load32(header + kFrameUnsyncedOffset);
  fields.time_ms = Load32(header + kFrameTimeOffset);
  return fields;
}

DecodeStatus DecodeFrame(const uint8_t* from, size_t available, uint64_t room, uint32_t crc_seed,
                         DecodedFrame* frame) {
  if (room < kFrameHeaderBytes) return DecodeStatus::kFree;
  if (available < kFrameHeaderBytes) {
    frame->fields.length = 0;
    return DecodeStatus::kShort;
  }
  if (Load32(from) == 0) return DecodeStatus::kFree;
  FrameFields& fields = frame->fields;
  fields = PeekFrame(from);
  if (!IsWholeState(fields.state)) return DecodeStatus::kBadState;
  if (!HasPlausibleLength(fields)) return DecodeStatus::kBadLength;
  if (fields.frame_bytes() > room) return DecodeStatus::kOverrun;
  // The payload of a frame that holds no record is skipped, so the checksum covers only the header.
  const bool record = fields.state == FrameState::kCommitted;
  if (record && fields.frame_bytes() > available) return DecodeStatus::kShort;
  frame->payload = from + kFrameHeaderBytes;
  const size_t covered = record ? fields.length : 0;
  const uint32_t crc = Crc32c(HeaderCrc(crc_seed, from), frame->payload, covered);
  if (crc != Load32(from + kFrameCrcOffset)) return DecodeStatus::kBadCrc;
  if (fields.state != FrameState::kVoid && fields.unsynced > fields.seq) {
    return DecodeStatus::kBadCrc;
  }
  return DecodeStatus::kWhole;
}

const char* DescribeDecodeStatus(DecodeStatus status) {
  switch (status) {
    case DecodeStatus::kWhole: return "";
    case DecodeStatus::kFree: return "free space";
    case DecodeStatus::kShort: return "cut off by the end of the file";
    case DecodeStatus::kOverrun: return "length reaches past the end of the segment";
    case DecodeStatus::kBadState: return "unknown or unfinished state";
    case DecodeStatus::kBadLength: return "impossible length";
    case DecodeStatus::kBadCrc: return "checksum mismatch";
  }
  return "unknown";
}

}  // namespace durlog
