// Lets a fuzzer past the checksums: where a checksum field reads kSignMe, the right one is put
// there.
#ifndef DURLOG_TEST_FUZZ_SIGNED_IMAGE_H_
#define DURLOG_TEST_FUZZ_SIGNED_IMAGE_H_

#include <algorithm>
#include <cstring>

#include "../core/memory_file_system.h"
#include "base/bytes.h"
#include "checksum/crc32c.h"
#include "record/record_codec.h"
#include "record/segment_header.h"

namespace durlog {

inline constexpr uint32_t kSignMe = 0x5a5a5a5a;

// One frame; a length that reaches past the image is signed as far as there are bytes.
inline void SignFrame(MemoryBytes* image, size_t at, uint32_t seed) {
  uint8_t* const frame = image->data() + at;
  if (Load32(frame + kFrameCrcOffset) != kSignMe) return;
  Store32(frame + kFrameCrcOffset, 0);
  const FrameFields fields = PeekFrame(frame);
  const size_t payload = fields.state == FrameState::kPadding ? 0 : fields.length;
  const size_t covered = std::min(kFrameHeaderBytes + payload, image->size() - at);
  Store32(frame + kFrameCrcOffset, Crc32c(seed, frame, covered));
}

// A segment's image from a fuzzer's input: 64 bytes of header, put at both its places, then frames.
// Shorter inputs are taken as they are.
inline MemoryBytes SignedSegment(const uint8_t* data, size_t size) {
  if (size < kSegmentHeaderFieldBytes) return MemoryBytes(data, data + size);
  MemoryBytes image(kSegmentHeaderBytes, 0);
  std::memcpy(image.data(), data, kSegmentHeaderFieldBytes);
  if (Load32(image.data() + 60) == kSignMe) Store32(image.data() + 60, Crc32c(0, image.data(), 60));
  std::memcpy(image.data() + kSegmentHeaderCopyOffset, image.data(), kSegmentHeaderFieldBytes);
  image.insert(image.end(), data + kSegmentHeaderFieldBytes, data + size);
  const Result<DecodedSegmentHeader> header = DecodeSegmentHeader(image.data(), image.size());
  const uint32_t seed = header.ok() ? header->header.crc_seed() : 0;
  // From the end, so that a frame inside another's payload is signed before that one is.
  for (size_t at = AlignDown(image.size(), kFrameAlignment); at > kSegmentHeaderBytes;) {
    at -= kFrameAlignment;
    if (image.size() - at >= kFrameHeaderBytes) SignFrame(&image, at, seed);
  }
  return image;
}

}  // namespace durlog

#endif  // DURLOG_TEST_FUZZ_SIGNED_IMAGE_H_
