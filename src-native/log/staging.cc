#include "log/staging.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace durlog {
namespace {

// Limits for the buffers that are kept between commits. Larger ones are freed.
constexpr size_t kMaxKeptBuffers = 2;
constexpr size_t kMaxKeptBufferBytes = 8u << 20;

}  // namespace

Status Staging::NoMemory() {
  return Status::Error(Code::kOutOfMemory, "there is no memory to stage the record");
}

Status Staging::BeginPiece(const std::shared_ptr<Segment>& segment, uint64_t offset, bool direct) {
  StagedPiece piece;
  piece.segment = segment;
  piece.begin = piece.end = piece.buffer_offset = offset;
  piece.buffer = std::move(next_buffer_);
  if (direct) {
    piece.buffer_offset = AlignDown(offset, block_bytes_);
    DURLOG_RETURN_IF_ERROR(FillFirstBlock(&piece));
  }
  pieces_.push_back(std::move(piece));
  return Status::Ok();
}

// Fills in the file's bytes between the start of the block and the first frame.
Status Staging::FillFirstBlock(StagedPiece* piece) const {
  uint8_t* const to = piece->buffer.data();
  const size_t head = piece->used();
  if (head == 0) return Status::Ok();
  Segment& segment = *piece->segment;
  if (last_block_.segment == &segment && last_block_.offset == piece->buffer_offset &&
      last_block_.bytes.size() == head) {
    std::copy(last_block_.bytes.begin(), last_block_.bytes.end(), to);
  } else if (segment.active()) {
    DURLOG_ASSIGN_OR_RETURN(const size_t read,
                            segment.file().ReadAt(piece->buffer_offset, to, head));
    std::memset(to + read, 0, head - read);
  } else {
    // The segment has no file yet, and its first block is longer than the header.
    EncodeSegmentHeader(segment.header(), to);
  }
  return Status::Ok();
}

// Keeps the last block up to the end of the last frame; the next direct write writes it again.
void Staging::KeepLastBlock(const StagedPiece& piece) {
  last_block_.segment = piece.segment.get();
  last_block_.offset = AlignDown(piece.end, block_bytes_);
  const uint8_t* const from = piece.buffer.data() + (last_block_.offset - piece.buffer_offset);
  last_block_.bytes.assign(from, from + (piece.end - last_block_.offset));
}

StagedGroup Staging::Take(LogPosition next, bool direct) {
  StagedGroup group;
  group.end_seq = next.seq;
  group.start = std::exchange(start_, std::move(next));
  group.frame_bytes = std::exchange(group_bytes_, 0);
  group.pieces = std::exchange(pieces_, {});
  if (direct && !group.pieces.empty()) KeepLastBlock(group.pieces.back());
  return group;
}

void Staging::Settle(StagedGroup& group) {
  pending_bytes_ -= group.frame_bytes;
  for (StagedPiece& piece : group.pieces) GiveBuffer(std::move(piece.buffer));
}

void Staging::MoveStart(LogPosition position) {
  position.seq = start_.seq;
  start_ = std::move(position);
}

void Staging::Restart(LogPosition position) {
  start_ = std::move(position);
  ForgetLastBlock();
}

void Staging::Discard(Directory& directory) {
  for (StagedPiece& piece : pieces_) {
    piece.segment->Discard(directory);
    GiveBuffer(std::move(piece.buffer));
  }
  pieces_.clear();
  pending_bytes_ -= std::exchange(group_bytes_, 0);
}

void Staging::Abandon() {
  pieces_.clear();
  group_bytes_ = 0;
}

AlignedBuffer Staging::TakeBuffer() {
  if (buffers_.empty()) return AlignedBuffer();
  AlignedBuffer buffer = std::move(buffers_.back());
  buffers_.pop_back();
  return buffer;
}

void Staging::GiveBuffer(AlignedBuffer buffer) {
  if (buffers_.size() < kMaxKeptBuffers && buffer.capacity() <= kMaxKeptBufferBytes) {
    buffers_.push_back(std::move(buffer));
  }
}

}  // namespace durlog
