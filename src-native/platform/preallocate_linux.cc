#include <fcntl.h>
#include <linux/falloc.h>

#include <cerrno>

#include "platform/posix_fd.h"
#include "platform/posix_preallocate.h"

namespace durlog {
namespace {

// Uses fallocate(2), not posix_fallocate(): if the file system does not support the call, glibc's
// posix_fallocate() writes a byte into every block, which is slow, races with other writers and
// reserves nothing on copy-on-write file systems.
Status Fallocate(int fd, const std::string& path, int mode, uint64_t offset, uint64_t length) {
  if (length == 0) return Status::Ok();
  if (RetryInterrupted([&] {
        return fallocate(fd, mode, static_cast<off_t>(offset), static_cast<off_t>(length));
      }) == 0) {
    return Status::Ok();
  }
  const int error = errno;
  Status status = Status::System("fallocate", error, path).WithOffset(offset);
  if (error == EOPNOTSUPP || error == ENOSYS) {
    return std::move(status).WithCode(Code::kUnsupported);
  }
  return status;
}

}  // namespace

Status AllocateIn(int fd, const std::string& path, uint64_t offset, uint64_t length) {
  return Fallocate(fd, path, 0, offset, length);
}

Status ZeroRangeIn(int fd, const std::string& path, uint64_t offset, uint64_t length) {
  return Fallocate(fd, path, FALLOC_FL_ZERO_RANGE, offset, length);
}

}  // namespace durlog
