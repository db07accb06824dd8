// Lets a fuzzer pass the checksums: replaces each checksum field that contains kSignMe with the
// right checksum.
#pragma once

#include <algorithm>
#include <cstring>

#include "../core/memory_file_system.h"
#include "base/bytes.h"
#include "checksum/crc32c.h"
#include "record/record_codec.h"
#include "record/segment_header.h"

namespace durlog {

inline constexpr uint32_t kSignMe = 0x5a5a5a5a;

// Signs one frame; if its length exceeds the image, signs the bytes that exist.
inline void SignFrame(MemoryBytes* image, size_t at, uint32_t seed) {
  uint8_t* const frame = image->data() + at;
  if (Load32(frame + kFrameCrcOffset) != kSignMe) return;
  Store32(frame + kFrameCrcOffset, 0);
  const FrameFields fields = PeekFrame(frame);
  const size_t payload = fields.state == FrameState::kPadding ? 0 : fields.length;
  const size_t covered = std::min(kFrameHeaderBytes + payload, image->size() - at);
  Store32(frame + kFrameCrcOffset, Crc32c(seed, frame, covered));
}

// Makes a segment's image from a fuzzer's input: 64 bytes of header, which are stored at both
// header places, and then frames. Shorter inputs are used unchanged.
inline MemoryBytes SignedSegment(const uint8_t* data, size_t size) {
  if (size < kSegmentHeaderFieldBytes) return MemoryBytes(data, data + size);
  MemoryBytes image(kSegmentHeaderBytes, 0);
  std::memcpy(image.data(), data, kSegmentHeaderFieldBytes);
  if (Load32(image.data() + 60) == kSignMe) Store32(image.data() + 60, Crc32c(0, image.data(), 60));
  std::memcpy(image.data() + kSegmentHeaderCopyOffset, image.data(), kSegmentHeaderFieldBytes);
  image.insert(image.end(), data + kSegmentHeaderFieldBytes, data + size);
  const Result<DecodedSegmentHeader> header = DecodeSegmentHeader(image.data(), image.size());
  const uint32_t seed = header.ok() ? header->header.crc_seed() : 0;
  // From the end, so that a frame inside the payload of another one is signed first.
  for (size_t at = AlignDown(image.size(), kFrameAlignment); at > kSegmentHeaderBytes;) {
    at -= kFrameAlignment;
    if (image.size() - at >= kFrameHeaderBytes) SignFrame(&image, at, seed);
  }
  return image;
}

}  // namespace durlog
