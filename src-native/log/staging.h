// The group that is being formed: what has been appended since the last commit began.
#ifndef DURLOG_LOG_STAGING_H_
#define DURLOG_LOG_STAGING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/status.h"
#include "log/log_position.h"
#include "log/staged_group.h"
#include "platform/file_system.h"
#include "record/record_codec.h"
#include "segment/segment.h"

namespace durlog {

// Where the commits write, records are framed here, into one buffer for each segment. Where records
// are stored into a map, the group has a size and no pieces.
//
// A direct write takes whole blocks: a piece begins with the bytes that the file already has in the
// first one. The last block of the group before is kept for that.
class Staging {
 public:
  // `block_bytes`: of direct writes.
  explicit Staging(uint32_t block_bytes) : block_bytes_(block_bytes) {}

  // Nothing waits to be written. Records in a map may still be counted.
  bool empty() const { return pieces_.empty(); }
  // Segments that the next commit writes to.
  size_t segment_count() const { return pieces_.size(); }
  // Of the records in the group, as frames.
  uint64_t group_bytes() const { return group_bytes_; }
  // Of the group, and of those that commits have taken and not settled.
  uint64_t pending_bytes() const { return pending_bytes_; }
  uint64_t first_seq() const { return start_.seq; }

  // Makes room for `frame_bytes` of frames in `segment`, padding to whole blocks included; null for
  // a segment that appending has not reached yet. To be called before anything else changes: a
  // rotation, or a batch, that fails half-way could not be taken back.
  Status Reserve(const Segment* segment, uint64_t frame_bytes) {
    const bool continues = Continues(segment);
    if (!continues && next_buffer_.capacity() == 0) next_buffer_ = TakeBuffer();
    AlignedBuffer& buffer = continues ? pieces_.back().buffer : next_buffer_;
    // Before a piece's first frame there is less than a block.
    const size_t used = continues ? pieces_.back().used() : block_bytes_;
    const uint64_t needed = AlignUp(used + frame_bytes, block_bytes_);
    if (buffer.Reserve(static_cast<size_t>(needed), continues ? used : 0)) return Status::Ok();
    return NoMemory();
  }

  // Frames a record, or a marker, at `offset` of `segment`. After Reserve() of at least its size.
  // `direct` where the commits write past the page cache.
  Status Stage(const std::shared_ptr<Segment>& segment, uint64_t offset, bool direct,
               const FrameFields& fields, Bytes payload) {
    if (!Continues(segment.get())) {
      DURLOG_RETURN_IF_ERROR(BeginPiece(segment, offset, direct));
    }
    StagedPiece& piece = pieces_.back();
    EncodeFrame(fields, payload, segment->crc_seed(), piece.buffer.data() + piece.used());
    piece.end += fields.frame_bytes();
    return Status::Ok();
  }

  // Records that were staged or stored, and are to be committed.
  void Count(uint64_t frame_bytes) {
    group_bytes_ += frame_bytes;
    pending_bytes_ += frame_bytes;
  }

  // Hands the group over; the next one begins at `next`. `direct` as for Stage().
  StagedGroup Take(LogPosition next, bool direct);
  // A group that was taken needs no memory any more.
  void Settle(StagedGroup& group);

  // The group begins elsewhere in the files, at `position`; its first seq stays.
  void MoveStart(LogPosition position);
  // Appending goes on at `position`; there is nothing in the group, and the bytes before it have to
  // be read from the file.
  void Restart(LogPosition position);
  // The file's last block is no longer what was last staged for it.
  void ForgetLastBlock() { last_block_ = LastBlock{}; }
  // Takes the group back, and gives up the segments that only it would have made.
  void Discard(Directory& directory);
  // Lets go of the group: it will not be committed, and its segments are left as they are.
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
  AlignedBuffer next_buffer_;  // of the piece that is begun next
  std::vector<AlignedBuffer> buffers_;
  LastBlock last_block_;
};

}  // namespace durlog

#endif  // DURLOG_LOG_STAGING_H_
