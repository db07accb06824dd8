#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "platform/posix_cache.h"

namespace durlog {

// The whole file: a range would leave the large folios that reach beyond it.
Status DropCacheOf(int fd, const std::string& path) {
  const int error = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  // Sandboxes leave it out, and have no page cache of their own to forget.
  if (error == 0 || error == ENOSYS || error == EPERM) return Status::Ok();
  return Status::System("posix_fadvise", error, path);
}

// Dirty pages over unwritten extents count as data, so nothing that was written is passed over.
Result<uint64_t> NextDataOf(int fd, const std::string& path, uint64_t offset) {
  const off_t at = lseek(fd, static_cast<off_t>(offset), SEEK_DATA);
  if (at >= 0) return static_cast<uint64_t>(at);
  if (errno == ENXIO) return UINT64_MAX;
  if (errno == EINVAL || errno == EOPNOTSUPP) return offset;
  return Status::System("lseek", errno, path).WithOffset(offset);
}

}  // namespace durlog
