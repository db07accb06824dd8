// Walks the frames of one segment and finds the first damaged one and the kind of damage.
#pragma once

#include <cstdint>
#include <optional>

#include "record/record_codec.h"
#include "segment/data_map.h"
#include "segment/range_checksums.h"
#include "segment/read_window.h"

namespace durlog {

// The properties of a segment that its frames are checked against.
struct ScanContext {
  uint64_t first_seq = 0;
  uint32_t crc_seed = 0;
  uint64_t segment_bytes = 0;  // no frame reaches past this
  bool recycled = false;       // there may be stale bytes after the end
};

// The result of decoding one frame.
struct ScannedFrame {
  DecodeStatus status = DecodeStatus::kFree;
  uint64_t offset = 0;
  FrameFields fields;
  const uint8_t* payload = nullptr;  // valid until the next call
  bool misplaced = false;            // whole, but no crash can cause its seq at this place
};

// Decodes frames in order of offset. Stops at the first frame that is not whole, whose seq is not
// the expected one (reported as kBadCrc: the frame is intact but belongs to another place), or that
// is in a batch but is not a record (reported as kBadState).
class FrameScanner {
 public:
  // `alignment` is for a file that is open for direct I/O. See ReadWindow.
  FrameScanner(File& file, const ScanContext& context, uint64_t file_bytes, uint32_t alignment = 1,
               ReadHeld read_held = nullptr);

  // Decodes the frame at position(); moves past it only if it is valid.
  Result<ScannedFrame> Next();
  // Searches from position() for the next valid frame, a record or marker whose seq is at least
  // next_seq(), and moves past it. nullopt if there is none. The time grows with the length of the
  // file, whatever it holds.
  Result<std::optional<ScannedFrame>> Resync();
  // Whether any byte from `offset` to the end of the file is not zero. `data` is the file's map.
  Result<bool> AnyNonZero(uint64_t offset, const DataMap& data);

  uint64_t position() const { return position_; }
  uint64_t next_seq() const { return next_seq_; }
  uint64_t bytes_read() const { return window_.bytes_read(); }
  // Continue at a known frame start.
  void Seek(uint64_t offset, uint64_t next_seq) {
    inside_batch_ = false;
    position_ = offset;
    next_seq_ = next_seq;
  }
  // Accepts the seq of each whole frame, for a dump that begins in the middle.
  void AcceptAnySeq() { any_seq_ = true; }

 private:
  // The most bytes that a search checks directly. Beyond it, RangeChecksums are faster.
  static constexpr uint64_t kCheckedDirectly = 1u << 20;

  Result<DecodeStatus> Decode(uint64_t offset, DecodedFrame* frame);
  bool IsPlausible(const FrameFields& fields, uint64_t offset) const;
  Result<bool> MayBeWhole(const uint8_t* header, const FrameFields& fields, uint64_t offset);

  File& file_;
  const ScanContext context_;
  const uint64_t end_;  // of the readable bytes
  ReadWindow window_;
  uint64_t position_ = kSegmentHeaderBytes;
  uint64_t next_seq_;
  bool any_seq_ = false;
  bool inside_batch_ = false;
  uint64_t checked_bytes_ = 0;  // of the search, directly
  std::optional<RangeChecksums> ranges_;
};

// The result of scanning one segment for recovery.
struct SegmentScan {
  uint64_t end_offset = kSegmentHeaderBytes;   // after the last whole record of a whole batch
  uint64_t records_end = kSegmentHeaderBytes;  // same, before the markers at the end
  uint64_t next_seq = 0;                       // the seq of the next record there
  uint64_t records = 0;                        // whole records before the end
  uint64_t payload_bytes = 0;
  uint64_t bytes_read = 0;
  // The highest synced end in the slot or in any valid frame, before or after damage; 0 if there is
  // none.
  uint64_t synced_end = 0;

  uint32_t last_time_ms = 0;  // of the whole records before the end

  bool damaged = false;  // the bytes at end_offset are neither a whole frame nor free space
  // A whole frame whose seq belongs elsewhere follows the others. No crash causes this: the file
  // had another name.
  bool misplaced = false;
  DecodeStatus damage = DecodeStatus::kFree;
  // The number of valid records after the damage.
  uint64_t records_after = 0;
  uint64_t first_after = 0;
  uint64_t next_after = 0;  // the seq after the last of them, or after a torn batch's whole records
};

Result<SegmentScan> ScanSegment(File& file, const ScanContext& context);

}  // namespace durlog
