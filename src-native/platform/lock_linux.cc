#include <fcntl.h>

#include <cerrno>

#include "platform/posix_lock.h"

namespace durlog {

namespace {

int SetLock(int fd, short type) {
  struct flock whole = {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  return RetryInterrupted([&] { return fcntl(fd, F_OFD_SETLK, &whole); });
}

}  // namespace

// An open file description lock, not a POSIX one: that would let the same process in twice, and
// would be lost when any descriptor of the file is closed.
Result<bool> TryLockDescriptor(int fd, const std::string& path) {
  if (SetLock(fd, F_WRLCK) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return Status::System("F_OFD_SETLK", errno, path);
}

Result<bool> IsDescriptorLocked(int fd, const std::string& path) {
  struct flock whole = {};
  whole.l_type = F_RDLCK;
  whole.l_whence = SEEK_SET;
  if (RetryInterrupted([&] { return fcntl(fd, F_OFD_GETLK, &whole); }) != 0) {
    return Status::System("F_OFD_GETLK", errno, path);
  }
  return whole.l_type != F_UNLCK;
}

void UnlockDescriptor(int fd) { SetLock(fd, F_UNLCK); }

}  // namespace durlog
