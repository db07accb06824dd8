#include <fcntl.h>
#include <linux/falloc.h>

#include <cerrno>

#include "platform/posix_file.h"
#include "platform/posix_system.h"

namespace durlog {
namespace {

// Uses fallocate(2), not posix_fallocate(): if the file system does not support the call, glibc's
// posix_fallocate() writes a byte into every block, which is slow, races with other writers and
// reserves nothing on copy-on-write file systems.
Status Fallocate(int fd, const std::string& path, int mode, uint64_t offset, uint64_t length) {
  if (length == 0) return Status::Ok();
  ExpectFileSizeLimit();
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

Status PosixFile::Allocate(uint64_t offset, uint64_t length) {
  return Fallocate(fd_.get(), path_, 0, offset, length);
}

Status PosixFile::ZeroRange(uint64_t offset, uint64_t length) {
  return Fallocate(fd_.get(), path_, FALLOC_FL_ZERO_RANGE, offset, length);
}

}  // namespace durlog
