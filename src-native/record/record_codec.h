// Encodes and decodes frames, the representation of records on disk. Pure functions over memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "checksum/crc32c.h"
#include "record/record_format.h"

namespace durlog {

// Everything of a frame except its payload.
struct FrameFields {
  FrameState state = FrameState::kFree;
  bool batch_continues = false;  // bit 28, which means nothing unless the frame is a record
  uint32_t length = 0;           // payload bytes
  uint64_t seq = 0;
  // The number of records before this one that were not known to be synced. For a void: the number
  // of seqs that it takes.
  uint32_t unsynced = 0;
  uint32_t time_ms = 0;  // since the segment's base time

  // Every record below this seq was on the device when the frame was made. A void carries no
  // watermark, so that every writer makes the same bytes.
  uint64_t synced_end() const { return state == FrameState::kVoid ? 0 : seq - unsynced; }
  // The next frame's seq is `seq` + seqs().
  uint64_t seqs() const {
    if (state == FrameState::kCommitted) return 1;
    return state == FrameState::kVoid ? unsynced : 0;
  }
  // The next record belongs to the same atomic batch.
  bool continues_batch() const { return state == FrameState::kCommitted && batch_continues; }
  uint64_t frame_bytes() const { return FrameBytes(length); }
};

// Whether a frame of this state can be whole.
inline bool IsWholeState(FrameState state) {
  return state == FrameState::kCommitted || state == FrameState::kPadding ||
         state == FrameState::kMarker || state == FrameState::kVoid;
}

// The fields of record `i` of a batch of `count`, of which `first` is the first one.
inline FrameFields FieldsInBatch(FrameFields first, size_t i, size_t count, size_t payload_bytes) {
  first.length = static_cast<uint32_t>(payload_bytes);
  first.seq += i;
  first.unsynced += static_cast<uint32_t>(i);
  first.batch_continues = i + 1 < count;
  return first;
}

// The frame's first word. It is zero as long as there is no frame.
inline uint32_t FrameWord(const FrameFields& fields) {
  return fields.length | (fields.batch_continues ? kBatchContinuesFlag : 0) |
         (static_cast<uint32_t>(fields.state) << kStateShift);
}

// Fills the 24 bytes of the header except the checksum. Returns the CRC of these bytes; the caller
// continues it over the payload and passes it to SealFrameHeader(). `crc_seed` binds the frame to
// its segment (SegmentHeader::crc_seed()). The caller stores the first four bytes last, so that a
// reader sees a whole frame or none.
inline uint32_t BeginFrameHeader(const FrameFields& fields, uint32_t crc_seed,
                                 uint8_t header[kFrameHeaderBytes]) {
  Store32(header, FrameWord(fields));
  Store32(header + kFrameCrcOffset, 0);
  Store64(header + kFrameSeqOffset, fields.seq);
  Store32(header + kFrameUnsyncedOffset, fields.unsynced);
  Store32(header + kFrameTimeOffset, fields.time_ms);
  return Crc32c(crc_seed, header, kFrameHeaderBytes);
}

inline void SealFrameHeader(uint8_t header[kFrameHeaderBytes], uint32_t crc) {
  Store32(header + kFrameCrcOffset, crc);
}

// Writes the whole frame: fields.frame_bytes() bytes. The payload may change during the call: see
// CopyAndCrc32c().
inline void EncodeFrame(const FrameFields& fields, const PayloadParts& payload, uint32_t crc_seed,
                        uint8_t* to) {
  const auto& [head, rest] = payload;
  uint8_t* const rest_to = to + kFrameHeaderBytes + head.size;
  uint32_t crc = BeginFrameHeader(fields, crc_seed, to);
  crc = CopyAndCrc32c(crc, to + kFrameHeaderBytes, head.data, head.size);
  SealFrameHeader(to, CopyAndCrc32c(crc, rest_to, rest.data, rest.size));
  const size_t unpadded = kFrameHeaderBytes + payload.size();
  std::memset(to + unpadded, 0, static_cast<size_t>(fields.frame_bytes()) - unpadded);
}

// Writes the header of a void that replaces a frame with `length` bytes of payload. Every byte
// follows from the arguments. A void without seqs fills the rest of a segment.
inline void EncodeVoid(uint64_t seq, uint32_t seqs, uint32_t length, uint32_t crc_seed,
                       uint8_t header[kFrameHeaderBytes]) {
  FrameFields fields;
  fields.state = FrameState::kVoid;
  fields.length = length;
  fields.seq = seq;
  fields.unsynced = seqs;
  SealFrameHeader(header, BeginFrameHeader(fields, crc_seed, header));
}

enum class DecodeStatus : uint8_t {
  kWhole,      // a frame of any state but free, checksum verified
  kFree,       // the word is zero: nothing has been committed here
  kShort,      // longer than the given bytes; may be whole
  kOverrun,    // claims to reach past the end of the segment
  kBadState,   // reserved, or a state this version does not know
  kBadLength,  // a record without a payload, or one longer than the format allows
  kBadCrc,
};

struct DecodedFrame {
  FrameFields fields;
  const uint8_t* payload = nullptr;
};

// Decodes the frame at `from`. `available` bytes may be read; `room` bytes remain in the segment
// (room >= available). On kShort, fields.frame_bytes() is the number of bytes needed, if the given
// bytes contained at least the word. The length is checked against `room` before any later field
// is read. Of a frame without a record only the header is read: it may be longer than `available`.
DecodeStatus DecodeFrame(const uint8_t* from, size_t available, uint64_t room, uint32_t crc_seed,
                         DecodedFrame* frame);

// The checksum of the header alone, of which the frame's is the continuation over a record's
// payload.
uint32_t HeaderCrc(uint32_t crc_seed, const uint8_t header[kFrameHeaderBytes]);

// Splits the header's fields without any check, for dumps and for resynchronisation.
FrameFields PeekFrame(const uint8_t header[kFrameHeaderBytes]);

// Describes the fault in one clause, for reports; "" for kWhole.
const char* DescribeDecodeStatus(DecodeStatus status);

}  // namespace durlog
