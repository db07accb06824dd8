#include "segment/range_checksums.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "checksum/crc32c.h"
#include "checksum/crc32c_splice.h"

namespace durlog {
namespace {

constexpr uint64_t kReadBytes = 1u << 20;

// Bytes after the end of a file that has become shorter count as zeros.
Status ReadFully(File& file, uint64_t offset, uint8_t* to, size_t length) {
  DURLOG_ASSIGN_OR_RETURN(const size_t read, file.ReadAt(offset, to, length));
  std::fill(to + read, to + length, uint8_t{0});
  return Status::Ok();
}

}  // namespace

Status RangeChecksums::ReadAll() {
  AlignedBuffer buffer;
  if (!buffer.Reserve(kReadBytes, 0)) {
    return Status::Error(Code::kOutOfMemory, "no memory to search the segment");
  }
  uint32_t crc = 0;
  checksums_.push_back(crc);
  for (uint64_t at = begin_; at < end_; at += kReadBytes) {
    const size_t length = static_cast<size_t>(std::min(kReadBytes, end_ - at));
    DURLOG_RETURN_IF_ERROR(ReadFully(file_, at, buffer.data(), length));
    for (size_t step = 0; step + kStepBytes <= length; step += kStepBytes) {
      crc = Crc32c(crc, buffer.data() + step, kStepBytes);
      checksums_.push_back(crc);
    }
  }
  return Status::Ok();
}

Result<uint32_t> RangeChecksums::Until(uint64_t offset, Step* step) {
  const uint64_t steps = (offset - begin_) / kStepBytes;
  const uint64_t step_begin = begin_ + steps * kStepBytes;
  if (step->begin != step_begin) {
    const uint64_t length = std::min(kStepBytes, end_ - step_begin);
    DURLOG_RETURN_IF_ERROR(ReadFully(file_, step_begin, step->bytes, static_cast<size_t>(length)));
    step->begin = step_begin;
  }
  return Crc32c(checksums_[static_cast<size_t>(steps)], step->bytes,
                static_cast<size_t>(offset - step_begin));
}

Result<uint32_t> RangeChecksums::Continue(uint32_t crc, uint64_t from, uint64_t to) {
  if (checksums_.empty()) DURLOG_RETURN_IF_ERROR(ReadAll());
  DURLOG_ASSIGN_OR_RETURN(const uint32_t before, Until(from, &from_));
  DURLOG_ASSIGN_OR_RETURN(const uint32_t after, Until(to, &to_));
  return SpliceCrc32c(crc, before, after, to - from);
}

}  // namespace durlog
