#include "log/mapped_frames.h"

#include <algorithm>

#include "base/aligned_buffer.h"

namespace durlog {
namespace {

// A payload that is written to the file, not stored into the map, is copied in steps of this size,
// so that the checksum is computed over exactly the bytes that are written.
constexpr size_t kCopyStepBytes = 1 << 20;

}  // namespace

void MappedFrames::Map(const std::shared_ptr<Segment>& segment, uint64_t offset,
                       const TailShape& shape, Executor* executor, TailLegacy legacy) {
  tail_ = std::make_unique<MappedTail>(segment, offset, shape, executor,
                                       segment->file().TakeFirstChunk(), std::move(legacy));
}

TailLegacy MappedFrames::Leave() {
  TailLegacy legacy = tail_->Leave();
  tail_.reset();
  return legacy;
}

// The first frame's word is published last: a reader sees the whole batch or no part of it.
Status MappedFrames::StoreBatch(Segment& segment, uint64_t at, const FrameFields& first,
                                const PayloadParts* payloads, size_t count) {
  uint64_t end = at;
  uint32_t first_word = 0;
  for (size_t i = 0; i < count; ++i) {
    const FrameFields fields = FieldsInBatch(first, i, count, payloads[i].size());
    if (i == 0) first_word = FrameWord(fields);
    Status stored = StoreFrame(segment, end, fields, payloads[i], i > 0);
    // Whole frames follow the first one, whose word is missing.
    if (!stored.ok()) return i > 0 ? LeaveBytes(std::move(stored)) : stored;
    end += fields.frame_bytes();
  }
  if (!tail_->Holds(at)) return WriteWord(segment, at, first_word);
  tail_->Publish(at, first_word);
  return Status::Ok();
}

Status MappedFrames::Fault(const Segment& segment, uint64_t at) {
  broken_ = true;
  return Status::Error(Code::kIo,
                       "a mapped page could not be written (the file was cut, the disk is full or "
                       "failing)")
      .WithPath(directory_.PathOf(segment.name()))
      .WithOffset(at);
}

// Used for a batch so long that its beginning is no longer mapped.
Status MappedFrames::WriteWord(Segment& segment, uint64_t at, uint32_t word) {
  uint8_t bytes[kWordBytes];
  Store32(bytes, word);
  Status written = segment.file().WriteAt(at, bytes, sizeof bytes);
  return written.ok() ? written : LeaveBytes(std::move(written));
}

// Writes a long frame to the file, because faulting in its pages would cost more. The map shows the
// bytes that are written here.
Status MappedFrames::WriteAround(Segment& segment, uint64_t at, uint8_t* header, uint32_t crc,
                                 const PayloadParts& payload, bool publish) {
  AlignedBuffer copy;
  if (!copy.Reserve(kCopyStepBytes, 0)) {
    return Status::Error(Code::kOutOfMemory, "no memory to copy the record");
  }
  SegmentFile& file = segment.file();
  // A worker that populates the pages ahead would write its zeros over the frame.
  tail_->SkipTo(at + FrameBytes(payload.size()));
  Status status;
  uint64_t next = at + kFrameHeaderBytes;
  for (const Bytes& part : {payload.head, payload.rest}) {
    for (size_t done = 0; status.ok() && done < part.size;) {
      const size_t step = std::min(kCopyStepBytes, part.size - done);
      crc = CopyAndCrc32c(crc, copy.data(), part.data + done, step);
      status = file.WriteAt(next, copy.data(), step);
      done += step;
      next += step;
    }
  }
  SealFrameHeader(header, crc);
  if (status.ok()) {
    status = file.WriteAt(at + kWordBytes, header + kWordBytes, kFrameHeaderBytes - kWordBytes);
  }
  if (status.ok() && publish) status = file.WriteAt(at, header, kWordBytes);
  return status.ok() ? status : LeaveBytes(std::move(status));
}

// The append has failed and left bytes after its beginning.
Status MappedFrames::LeaveBytes(Status failure) {
  if (broken_) return failure;
  tail_.reset();
  broken_ = !failure.may_be_repeated();
  has_leftover_ = !broken_;
  return failure;
}

void MappedFrames::CutLeftover(Segment& segment, uint64_t at) {
  has_leftover_ = false;
  broken_ = !segment.file().Cut(at).ok();
}

}  // namespace durlog
