#include "segment/read_window.h"

#include <algorithm>

namespace durlog {

Result<ReadWindow::View> ReadWindow::At(uint64_t offset, size_t wanted) {
  if (offset >= end_) return View{nullptr, 0};
  const uint64_t left = end_ - offset;
  const size_t needed = static_cast<size_t>(std::min<uint64_t>(wanted, left));
  if (offset >= begin_ && offset + needed <= begin_ + filled_) {
    const size_t skip = static_cast<size_t>(offset - begin_);
    return View{buffer_.data() + skip, filled_ - skip};
  }
  const size_t step = static_cast<size_t>(std::min<uint64_t>(std::max(needed, kStepBytes), left));
  filled_ = 0;
  if (!buffer_.Reserve(step, 0)) {
    return Status::Error(Code::kOutOfMemory, "no memory to read the segment");
  }
  DURLOG_ASSIGN_OR_RETURN(filled_, file_.ReadAt(offset, buffer_.data(), step));
  begin_ = offset;
  bytes_read_ += filled_;
  return View{buffer_.data(), filled_};
}

}  // namespace durlog
