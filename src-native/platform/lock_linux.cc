#include <fcntl.h>

#include <cerrno>

#include "platform/posix_lock.h"

namespace durlog {

// An open file description lock, not a POSIX one: that would let the same process in twice, and
// would be lost when any descriptor of the file is closed.
Result<bool> TryLockDescriptor(int fd, const std::string& path) {
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (RetryInterrupted([&] { return fcntl(fd, F_OFD_SETLK, &whole); }) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return Status::System("F_OFD_SETLK", errno, path);
}

}  // namespace durlog
