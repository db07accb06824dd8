// Appends into a map that take more than one store: batches, and frames longer than its window.
#include <algorithm>
#include <utility>

#include "base/aligned_buffer.h"
#include "log/log.h"
#include "segment/cut.h"

namespace durlog {
namespace {

// A payload that is written around the map is copied in steps of this size, so that the checksum is
// that of the bytes written.
constexpr size_t kCopyStepBytes = 1 << 20;

}  // namespace

// The first frame's word is published last: a reader sees the whole batch or no part of it.
Status Log::StoreMappedBatch(const Bytes* payloads, size_t count) {
  const uint64_t begin = append_offset_;
  uint32_t first_word = 0;
  for (size_t i = 0; i < count; ++i) {
    FrameFields fields = NextFields(payloads[i].size);
    fields.seq += i;
    fields.unsynced += static_cast<uint32_t>(i);
    fields.batch_continues = i + 1 < count;
    if (i == 0) first_word = FrameWord(fields);
    Status stored = StoreMapped(fields, payloads[i], i > 0);
    // Whole frames follow the first one, whose word is missing.
    if (!stored.ok()) return i > 0 ? TakeBack(begin, std::move(stored)) : stored;
  }
  if (!tail_->Holds(begin)) return WriteWord(begin, first_word);
  tail_->Publish(begin, first_word);
  return Status::Ok();
}

// Used for a batch so long that its beginning is no longer mapped.
Status Log::WriteWord(uint64_t at, uint32_t word) {
  uint8_t bytes[kWordBytes];
  Store32(bytes, word);
  Status written = active_->file().WriteAt(at, bytes, sizeof bytes);
  return written.ok() ? written : TakeBack(at, std::move(written));
}

// Writes a long frame to the file, because faulting in its pages would cost more. The map shows the
// bytes that are written here.
Status Log::WriteAround(uint64_t at, uint8_t* header, uint32_t crc, Bytes payload, bool publish) {
  AlignedBuffer copy;
  if (!copy.Reserve(kCopyStepBytes, 0)) {
    return Status::Error(Code::kOutOfMemory, "no memory to copy the record");
  }
  File& file = active_->file();
  // A worker that populates the pages ahead would write its zeros over the frame.
  tail_->SkipTo(at + FrameBytes(payload.size));
  Status status;
  for (size_t done = 0; status.ok() && done < payload.size;) {
    const size_t step = std::min(kCopyStepBytes, payload.size - done);
    crc = CopyAndCrc32c(crc, copy.data(), payload.data + done, step);
    status = file.WriteAt(at + kFrameHeaderBytes + done, copy.data(), step);
    done += step;
  }
  SealFrameHeader(header, crc);
  if (status.ok()) {
    status = file.WriteAt(at + kWordBytes, header + kWordBytes, kFrameHeaderBytes - kWordBytes);
  }
  if (status.ok() && publish) status = file.WriteAt(at, header, kWordBytes);
  return status.ok() ? status : TakeBack(at, std::move(status));
}

// Cuts the bytes that a failed append has left after `at`, because they must not follow a later
// frame. If the bytes there are unknown, or the cut fails, the log latches.
Status Log::TakeBack(uint64_t at, Status failure) {
  if (latched_) return failure;
  tail_.reset();
  append_offset_ = at;
  const bool known = failure.code() == Code::kNoSpace || failure.lacks_resources();
  if (known && CutSegment(active_->file(), at, active_->bytes()).ok()) return failure;
  Latch(std::move(failure), next_seq_, next_seq_);
  return failure_;
}

}  // namespace durlog
