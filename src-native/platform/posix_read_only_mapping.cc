#include "platform/posix_read_only_mapping.h"

#include <sys/mman.h>

#include <cerrno>

#include "base/bytes.h"

namespace durlog {

Result<std::unique_ptr<ReadOnlyMapping>> PosixReadOnlyMapping::Create(int fd,
                                                                      const std::string& path,
                                                                      uint64_t offset,
                                                                      size_t length) {
  void* start = mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (start == MAP_FAILED) return Status::System("mmap", errno, path).WithOffset(offset);
  Result<FaultGuard> guard =
      FaultGuard::Watch(start, static_cast<size_t>(AlignUp(length, PageBytes())));
  if (!guard.ok()) {
    munmap(start, length);
    return std::move(guard.TakeStatus()).WithPath(path);
  }
  return std::unique_ptr<ReadOnlyMapping>(
      new PosixReadOnlyMapping(start, length, std::move(guard.value())));
}

PosixReadOnlyMapping::~PosixReadOnlyMapping() {
  // Must come before unmapping: another thread's map may then get these addresses at once.
  guard_.Release();
  munmap(start_, size_);
}

}  // namespace durlog
