// Collects the next group: the records appended since the last commit began.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/status.h"
#include "log/staged_group.h"
#include "platform/file_system.h"
#include "record/record_codec.h"
#include "segment/segment.h"

namespace durlog {

// If the commits write the records, they are framed here, into one buffer for each segment. If
// records are stored into a map, the group has a size and no pieces.
//
// A direct write writes whole blocks, so a piece begins with the bytes that the file already has in
// its first block. The last block of the previous group is kept for that.
class Staging {
 public:
  // `block_bytes` is the block size of direct writes.
  explicit Staging(uint32_t block_bytes) : block_bytes_(block_bytes) {}

  // Whether nothing waits to be written. The group may still count records in a map.
  bool empty() const { return pieces_.empty(); }
  // The number of segments that the next commit writes to.
  size_t segment_count() const { return pieces_.size(); }
  // The size of the group's frames.
  uint64_t group_bytes() const { return group_bytes_; }
  // The size of the frames of this group and of the groups that commits have taken and not settled.
  uint64_t pending_bytes() const { return pending_bytes_; }
  uint64_t first_seq() const { return start_.seq; }

  // Makes room for `frame_bytes` of frames in `segment`, including the padding to whole blocks.
  // `segment` is null if appending has not reached it yet. Call it before anything else changes: a
  // rotation or a batch that fails half-way could not be undone.
  Status Reserve(const Segment* segment, uint64_t frame_bytes) {
    const bool continues = Continues(segment);
    if (!continues && next_buffer_.capacity() == 0) next_buffer_ = TakeBuffer();
    AlignedBuffer& buffer = continues ? pieces_.back().buffer : next_buffer_;
    // Less than a block precedes a piece's first frame.
    const size_t used = continues ? pieces_.back().used() : block_bytes_;
    const uint64_t needed = AlignUp(used + frame_bytes, block_bytes_);
    if (buffer.Reserve(static_cast<size_t>(needed), continues ? used : 0)) return Status::Ok();
    return NoMemory();
  }

  // Frames a record or void at `offset` of `segment`. Requires a Reserve() of at least its
  // size. `direct` is true if the commits write past the page cache.
  Status Stage(const std::shared_ptr<Segment>& segment, uint64_t offset, bool direct,
               const FrameFields& fields, const PayloadParts& payload) {
    if (!Continues(segment.get())) {
      DURLOG_RETURN_IF_ERROR(BeginPiece(segment, offset, direct));
    }
    StagedPiece& piece = pieces_.back();
    const uint64_t frame_bytes = fields.frame_bytes();
    EncodeFrame(fields, payload, segment->crc_seed(), piece.buffer.data() + piece.used());
    piece.end += frame_bytes;
    PrefetchNextFrame(piece.buffer.data() + piece.used(), frame_bytes);
    return Status::Ok();
  }

  // Counts the frames of records that were staged or stored and are to be committed.
  void Count(uint64_t frame_bytes) {
    group_bytes_ += frame_bytes;
    pending_bytes_ += frame_bytes;
  }

  // Returns the group and begins the next one at `next`. `direct` as for Stage().
  StagedGroup Take(LogPosition next, bool direct);
  // Takes back the buffers of a group that Take() has returned; the group is no longer pending.
  void Settle(StagedGroup& group);

  // Moves the start of the group in the files to `position`. Its first seq stays.
  void MoveStart(LogPosition position);
  // Appending continues at `position` with an empty group. The bytes before `position` have to be
  // read from the file.
  void Restart(LogPosition position);
  // Call it if the last block of the file is no longer the one that was staged last.
  void ForgetLastBlock() { last_block_ = LastBlock{}; }
  // Drops the group, and gives up the segments that only this group would have created.
  void Discard(Directory& directory);
  // Drops the group, which will not be committed, and leaves its segments unchanged.
  void Abandon();

 private:
  struct LastBlock {
    const Segment* segment = nullptr;
    uint64_t offset = 0;
    std::vector<uint8_t> bytes;
  };

  bool Continues(const Segment* segment) const {
    return !pieces_.empty() && pieces_.back().segment.get() == segment;
  }
  static Status NoMemory();
  // Starts fetching the cache lines of the next frame, which is taken to be as long as the last
  // one: a group's buffer is larger than the second-level cache. `at` may be the buffer's end.
  static void PrefetchNextFrame(const uint8_t* at, uint64_t last_frame_bytes) {
#if defined(__GNUC__) || defined(__clang__)
    constexpr uint64_t kLineBytes = 64;
    constexpr uint64_t kMaxBytes = 512;  // the processor itself detects longer runs
    const auto begin = reinterpret_cast<uintptr_t>(at);
    const uintptr_t end = begin + static_cast<uintptr_t>(std::min(last_frame_bytes, kMaxBytes));
    for (uintptr_t line = AlignUp(begin, kLineBytes); line < end; line += kLineBytes) {
      __builtin_prefetch(reinterpret_cast<const void*>(line), 1);
    }
#else
    static_cast<void>(at);
    static_cast<void>(last_frame_bytes);
#endif
  }
  Status BeginPiece(const std::shared_ptr<Segment>& segment, uint64_t offset, bool direct);
  Status FillFirstBlock(StagedPiece* piece) const;
  void KeepLastBlock(const StagedPiece& piece);
  AlignedBuffer TakeBuffer();
  void GiveBuffer(AlignedBuffer buffer);

  const uint32_t block_bytes_;
  LogPosition start_;
  std::vector<StagedPiece> pieces_;
  uint64_t group_bytes_ = 0;
  uint64_t pending_bytes_ = 0;
  AlignedBuffer next_buffer_;  // for the next piece
  std::vector<AlignedBuffer> buffers_;
  LastBlock last_block_;
};

}  // namespace durlog
