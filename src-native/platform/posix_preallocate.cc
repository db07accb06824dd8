#include "platform/posix_preallocate.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "platform/posix_fd.h"

namespace durlog {

Status ExtendTo(int fd, const std::string& path, uint64_t end) {
  struct stat info;
  if (fstat(fd, &info) != 0) return Status::System("fstat", errno, path);
  if (static_cast<uint64_t>(info.st_size) >= end) return Status::Ok();
  if (RetryInterrupted([&] { return ftruncate(fd, static_cast<off_t>(end)); }) == 0) {
    return Status::Ok();
  }
  return Status::System("ftruncate", errno, path).WithOffset(end);
}

}  // namespace durlog
