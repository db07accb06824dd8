// Feeds hostile bytes to the frame decoder, the header decoder and the scanner of one segment.
#include <cstdint>

#include "record/record_codec.h"
#include "require.h"
#include "segment/scanner.h"
#include "signed_image.h"
#include "targets.h"

namespace durlog {
namespace {

// A copy of exactly `size` bytes on the heap, so that a read past the end is detected.
void DecodeAlone(const uint8_t* data, size_t size, uint64_t room) {
  const MemoryBytes bytes(data, data + size);
  DecodedFrame frame;
  const DecodeStatus status = DecodeFrame(bytes.data(), bytes.size(), room, 0, &frame);
  if (status != DecodeStatus::kWhole) return;
  Require(frame.fields.frame_bytes() <= room);
  if (frame.fields.state == FrameState::kCommitted) Require(frame.fields.frame_bytes() <= size);
  Require(frame.fields.unsynced <= frame.fields.seq);
  Require(frame.fields.state != FrameState::kFree);
}

void CheckScan(const SegmentScan& scan, const ScanContext& context, uint64_t file_bytes) {
  const uint64_t end =
      std::max<uint64_t>(kSegmentHeaderBytes, std::min(context.segment_bytes, file_bytes));
  Require(scan.end_offset >= kSegmentHeaderBytes && scan.end_offset <= end);
  Require(scan.end_offset % kFrameAlignment == 0);
  Require(scan.next_seq == context.first_seq + scan.records);
  Require(scan.records <= file_bytes / kMinRecordFrameBytes);
  Require(scan.records_after == 0 || scan.damaged);
  Require(scan.payload_bytes <= file_bytes);
  // Bounded work: a few passes and a search, in whole windows.
  Require(scan.bytes_read <= 16 * file_bytes + (64u << 20));
}

void ScanAs(const MemoryBytes& image, uint64_t first_seq, uint32_t seed, uint64_t segment_bytes,
            bool recycled) {
  MemoryFile file(std::make_shared<MemoryBytes>(image));
  const ScanContext context{first_seq, seed, segment_bytes, recycled};
  const Result<SegmentScan> scan = ScanSegment(file, context);
  Require(scan.ok());
  CheckScan(*scan, context, image.size());
}

}  // namespace

void TryDecode(const uint8_t* data, size_t size) {
  if (size < 1) return;
  const uint64_t first_seq = data[0] < 128 ? data[0] : UINT64_MAX - (255u - data[0]);
  ++data;
  --size;
  DecodeAlone(data, size, size);
  DecodeAlone(data, size, UINT64_MAX);
  const MemoryBytes image = SignedSegment(data, size);
  const Result<DecodedSegmentHeader> decoded = DecodeSegmentHeader(image.data(), image.size());
  if (decoded.ok()) {
    const SegmentHeader& header = decoded->header;
    Require(header.segment_bytes <= kMaxSegmentBytes && header.segment_bytes >= kMinSegmentBytes);
    ScanAs(image, first_seq, header.crc_seed(), header.segment_bytes, header.recycled);
  } else {
    ScanAs(image, first_seq, 0, image.size(), false);
    ScanAs(image, first_seq, 0, UINT64_MAX, true);
  }
}

}  // namespace durlog
