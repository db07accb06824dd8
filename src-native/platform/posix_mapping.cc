#include "platform/posix_mapping.h"

#include <sys/mman.h>

#include <cerrno>

#include "base/bytes.h"
#include "platform/posix_memory.h"
#include "platform/posix_sync.h"

namespace durlog {
namespace {

size_t PagesFor(size_t bytes) { return static_cast<size_t>(AlignUp(bytes, PageBytes())); }

}  // namespace

Result<std::unique_ptr<Mapping>> PosixMapping::Create(const SharedFd& fd, const std::string& path,
                                                      uint64_t offset, size_t length,
                                                      int protection) {
  if (length == 0 || offset % PageBytes() != 0) {
    return Status::Error(Code::kInvalidArgument, "a map needs a length and a page's offset")
        .WithPath(path)
        .WithOffset(offset);
  }
  void* start = mmap(nullptr, length, protection, MAP_SHARED, fd.get(), static_cast<off_t>(offset));
  if (start == MAP_FAILED) return Status::System("mmap", errno, path).WithOffset(offset);
  Result<FaultGuard> guard = FaultGuard::Watch(start, PagesFor(length));
  if (!guard.ok()) {
    munmap(start, length);
    return std::move(guard.TakeStatus()).WithPath(path);
  }
  return std::unique_ptr<Mapping>(
      new PosixMapping(static_cast<uint8_t*>(start), length, offset, std::move(guard.value()),
                       (protection & PROT_WRITE) != 0 ? fd : SharedFd(), path));
}

PosixMapping::~PosixMapping() {
  // Must come before unmapping: another thread's map may then get these addresses at once.
  guard_.Release();
  munmap(data_, size_);
}

Status PosixMapping::CheckRange(size_t offset, size_t length) const {
  if (offset <= size_ && length <= size_ - offset) return Status::Ok();
  return Status::Error(Code::kInvalidArgument, "the range lies outside of the map")
      .WithPath(path_)
      .WithOffset(file_offset_ + offset);
}

// These three calls give advice to the kernel. If one fails, the map is only slower.
void PosixMapping::SetReadahead(bool wanted) {
  madvise(data_, size_, wanted ? MADV_NORMAL : MADV_RANDOM);
}

void PosixMapping::DropPages(size_t offset, size_t length) {
  if (!CheckRange(offset, length).ok()) return;
  const size_t first = static_cast<size_t>(AlignDown(offset, PageBytes()));
  const size_t end = static_cast<size_t>(AlignDown(offset + length, PageBytes()));
  if (first < end) madvise(data_ + first, end - first, MADV_DONTNEED);
}

void PosixMapping::Prefetch(size_t offset, size_t length) {
  if (!CheckRange(offset, length).ok()) return;
  const size_t first = static_cast<size_t>(AlignDown(offset, PageBytes()));
  madvise(data_ + first, PagesFor(offset + length - first), MADV_WILLNEED);
}

Status PosixMapping::Populate(size_t offset, size_t length) {
  DURLOG_RETURN_IF_ERROR(CheckRange(offset, length));
  if (length == 0) return Status::Ok();
  const size_t first = static_cast<size_t>(AlignDown(offset, PageBytes()));
  Status status = PopulatePages(data_ + first, PagesFor(offset + length - first), guard_, path_);
  if (status.ok()) return status;
  return std::move(status).WithOffset(file_offset_ + offset);
}

Status PosixMapping::Sync(size_t offset, size_t length) {
  DURLOG_RETURN_IF_ERROR(CheckRange(offset, length));
  const size_t first = static_cast<size_t>(AlignDown(offset, PageBytes()));
  // Never retried: see posix_sync.h.
  if (length != 0 && msync(data_ + first, offset + length - first, MS_SYNC) != 0) {
    return Status::OfSync("msync", errno, path_).WithOffset(file_offset_ + offset);
  }
  if (length != 0) DURLOG_RETURN_IF_ERROR(FinishSync(for_sync_.get(), "msync", path_));
  // msync returns 0 for the dead pages of the guard, although the stores into them are lost.
  if (faulted()) {
    return std::move(PageFault("msync", path_)).WithOffset(file_offset_ + offset);
  }
  return Status::Ok();
}

bool PosixMapping::WaitOn(size_t offset, uint32_t value, uint64_t micros) {
  return WaitOnSharedWord(data_ + offset, value, micros);
}

void PosixMapping::WakeOn(size_t offset) { WakeOnSharedWord(data_ + offset); }

}  // namespace durlog
