// Finds one record in one segment, from the nearest position that is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "platform/file_system.h"
#include "record/record_codec.h"
#include "record/segment_header.h"

namespace durlog {

// A record and the memory that it was read into.
struct PointRecord {
  AlignedBuffer memory;
  size_t offset = 0;
  uint32_t length = 0;
  uint64_t seq = 0;
  uint64_t timestamp_ms = 0;  // since the Unix epoch
  // The record's offset; 0 if it was not found by a known position.
  uint64_t segment_first_seq = 0;
  uint64_t frame_offset = 0;

  Bytes payload() const { return Bytes{memory.data() + offset, length}; }
};

// A segment that is open for reading, with its header decoded. For any thread.
struct ReadableSegment {
  uint64_t first_seq = 0;
  SegmentHeader header;
  uint32_t crc_seed = 0;
  std::unique_ptr<File> file;
};

// Frames before the record are stepped over by their headers alone. Each header must have the
// expected seq. The record itself is checked in full. If it is not known to be acknowledged, the
// whole of its atomic batch is checked too. The record's checksum covers the log's UUID, the
// segment's salt and the seq, so the result is the right record even if the position was wrong or
// the file has changed since.
//
// Serves one Find().
class RecordLookup {
 public:
  // The part of the file that one read covers.
  enum class Reading : uint8_t {
    kAny,
    // One piece of at most kWindowBytes, and only if the page cache holds it: does not wait for the
    // device, and takes some 5 us.
    kCached,
  };

  // Records below `acknowledged_end` are acknowledged, and so are the batches that they belong to.
  RecordLookup(const ReadableSegment& segment, uint64_t acknowledged_end,
               Reading reading = Reading::kAny)
      : segment_(segment), acknowledged_end_(acknowledged_end), reading_(reading) {}

  // Empty if no whole record was found, or if no known position is near. A LogReader must then
  // decide, which also notes positions.
  Result<std::optional<PointRecord>> Find(uint64_t seq);

 private:
  static constexpr size_t kWindowBytes = 64 << 10;
  // The largest distance from a position at which a record is searched, in reads. A LogReader is
  // faster over longer distances.
  static constexpr size_t kMaxHopReads = 8;

  // A boundary between frames with no batch open.
  struct Boundary {
    uint64_t seq;
    uint64_t offset;
  };

  Result<const uint8_t*> Read(uint64_t offset, size_t wanted);
  Result<size_t> ReadFile(uint64_t offset, size_t length);
  Result<bool> HopTo(uint64_t seq);
  Result<bool> BatchIsWhole(uint64_t seq);
  // kBadCrc if the frame has another seq.
  Result<DecodeStatus> Decode(uint64_t offset, uint64_t seq, DecodedFrame* frame);

  const ReadableSegment& segment_;
  const uint64_t acknowledged_end_;
  const Reading reading_;
  AlignedBuffer buffer_;
  uint64_t begin_ = 0;  // the offset of the buffer's first byte
  size_t filled_ = 0;
  size_t next_read_bytes_ = kWindowBytes;
  size_t reads_ = 0;
  uint64_t offset_ = 0;  // of the record's frame
  FrameFields fields_;   // of the record, not checked before Decode()
  // The frame of the batch that contains the record, or of the record itself. If the batch is
  // acknowledged, any frame of it.
  Boundary batch_{};
};

}  // namespace durlog
