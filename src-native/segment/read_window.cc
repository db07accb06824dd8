#include "segment/read_window.h"

#include <algorithm>

#include "base/bytes.h"

namespace durlog {

Result<ReadWindow::View> ReadWindow::At(uint64_t offset, size_t wanted) {
  if (offset >= end_) return View{nullptr, 0};
  const uint64_t left = end_ - offset;
  const size_t needed = static_cast<size_t>(std::min<uint64_t>(wanted, left));
  if (offset >= begin_ && offset + needed <= begin_ + filled_) {
    const size_t skip = static_cast<size_t>(offset - begin_);
    return View{buffer_.data() + skip, filled_ - skip};
  }
  const uint64_t begin = AlignDown(offset, alignment_);
  const size_t skip = static_cast<size_t>(offset - begin);
  const uint64_t most = std::min<uint64_t>(std::max(skip + needed, step_bytes_), skip + left);
  const size_t step = static_cast<size_t>(AlignUp(most, alignment_));
  step_bytes_ = std::min(step_bytes_ * kStepGrowth, kLongestStepBytes);
  filled_ = 0;
  if (!buffer_.Reserve(step, 0)) {
    return Status::Error(Code::kOutOfMemory, "no memory to read the segment");
  }
  size_t read = read_held_ ? read_held_(begin, buffer_.data(), step) : 0;
  if (read < skip + needed) {
    DURLOG_ASSIGN_OR_RETURN(read, file_.ReadAt(begin, buffer_.data(), step));
  }
  begin_ = begin;
  filled_ = static_cast<size_t>(std::min<uint64_t>(read, end_ - begin));
  bytes_read_ += filled_;
  if (filled_ <= skip) return View{nullptr, 0};
  return View{buffer_.data() + skip, filled_ - skip};
}

}  // namespace durlog
