#include <fcntl.h>

#include <cerrno>

#include "platform/posix_file.h"
#include "platform/posix_lock.h"

namespace durlog {

namespace {

struct flock RangeOf(short type, uint64_t offset, uint64_t length) {
  struct flock range = {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(offset);
  range.l_len = static_cast<off_t>(length);
  return range;
}

int SetLock(int fd, struct flock range) {
  return RetryInterrupted([&] { return fcntl(fd, F_OFD_SETLK, &range); });
}

Result<bool> TrySetLock(int fd, const std::string& path, const struct flock& range) {
  if (SetLock(fd, range) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return Status::System("F_OFD_SETLK", errno, path);
}

}  // namespace

// Uses open file description locks. POSIX locks do not exclude other opens in the same process, and
// are lost when any descriptor of the file is closed.
Result<bool> TryLockDescriptor(int fd, const std::string& path) {
  return TrySetLock(fd, path, RangeOf(F_WRLCK, 0, 0));
}

Result<bool> IsDescriptorLocked(int fd, const std::string& path) {
  DURLOG_ASSIGN_OR_RETURN(const std::optional<LockKind> kind, RangeLockBesides(fd, path, 0, 0));
  return kind.has_value();
}

void UnlockDescriptor(int fd) { SetLock(fd, RangeOf(F_UNLCK, 0, 0)); }

Result<bool> PosixFile::TryLockRange(LockKind kind, uint64_t offset, uint64_t length) {
  const short type = kind == LockKind::kExclusive ? F_WRLCK : F_RDLCK;
  return TrySetLock(fd_.get(), path_, RangeOf(type, offset, length));
}

Status PosixFile::UnlockRange(uint64_t offset, uint64_t length) {
  if (SetLock(fd_.get(), RangeOf(F_UNLCK, offset, length)) == 0) return Status::Ok();
  return Status::System("F_OFD_SETLK", errno, path_);
}

// Tests for a write lock, because every lock conflicts with one. The descriptor need not be open
// for writing.
Result<std::optional<LockKind>> RangeLockBesides(int fd, const std::string& path, uint64_t offset,
                                                 uint64_t length) {
  struct flock range = RangeOf(F_WRLCK, offset, length);
  if (RetryInterrupted([&] { return fcntl(fd, F_OFD_GETLK, &range); }) != 0) {
    return Status::System("F_OFD_GETLK", errno, path);
  }
  if (range.l_type == F_UNLCK) return std::optional<LockKind>();
  return std::optional<LockKind>(range.l_type == F_WRLCK ? LockKind::kExclusive
                                                         : LockKind::kShared);
}

}  // namespace durlog
