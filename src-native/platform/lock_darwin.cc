#include <sys/file.h>

#include <cerrno>

#include "platform/posix_file.h"
#include "platform/posix_lock.h"

namespace durlog {
namespace {

// Not supported: macOS locks ranges for a process, so a lock would not exclude other threads of the
// process.
Status NoRangeLocks(const std::string& path) {
  return Status::Error(Code::kUnsupported,
                       "this system has no lock of a range that belongs to an open file")
      .WithPath(path);
}

}  // namespace

// A lock of flock() belongs to the open file, as the locks of lock_linux.cc do: it excludes other
// opens in the same process too, and is not lost when another descriptor of the file is closed.
Result<bool> TryLockDescriptor(int fd, const std::string& path) {
  if (RetryInterrupted([&] { return flock(fd, LOCK_EX | LOCK_NB); }) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  return Status::System("flock", errno, path);
}

Result<bool> IsDescriptorLocked(int fd, const std::string& path) {
  if (RetryInterrupted([&] { return flock(fd, LOCK_SH | LOCK_NB); }) == 0) {
    UnlockDescriptor(fd);
    return false;
  }
  if (errno == EWOULDBLOCK) return true;
  return Status::System("flock", errno, path);
}

void UnlockDescriptor(int fd) { flock(fd, LOCK_UN); }

Result<bool> PosixFile::TryLockRange(LockKind, uint64_t, uint64_t) { return NoRangeLocks(path_); }

Status PosixFile::UnlockRange(uint64_t, uint64_t) { return NoRangeLocks(path_); }

Result<std::optional<LockKind>> RangeLockBesides(int, const std::string& path, uint64_t, uint64_t) {
  return NoRangeLocks(path);
}

}  // namespace durlog
