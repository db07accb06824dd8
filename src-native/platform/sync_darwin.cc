#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "platform/posix_sync.h"

namespace durlog {

// Nothing here starts the writeback of a range; the data goes out with the system's own flushing.
Status StartWritebackOf(int, const std::string&, uint64_t, uint64_t) { return Status::Ok(); }

// fsync on macOS gets the data as far as the drive, and leaves it in the drive's cache, from where
// it may reach the medium in any order. A record's synced end says that those before it are synced,
// so none of them may be gone after a power cut that has left that record: the barrier keeps the
// drive from writing what comes later before what came now, at a fraction of F_FULLFSYNC's cost.
Status SyncDataOf(int fd, const std::string& path) {
  if (fcntl(fd, F_BARRIERFSYNC) == 0) return Status::Ok();
  // Network and foreign volumes have no such call, and refuse it before anything is written: so
  // this is the first sync of the data, not a second try.
  if (errno != ENOTSUP && errno != ENOTTY && errno != EINVAL) {
    return Status::System("F_BARRIERFSYNC", errno, path);
  }
  if (fsync(fd) == 0) return Status::Ok();
  return Status::System("fsync", errno, path);
}

Status SyncFullOf(int fd, const std::string& path) {
  if (fcntl(fd, F_FULLFSYNC) == 0) return Status::Ok();
  // As above.
  if (errno == ENOTSUP || errno == ENOTTY || errno == EINVAL) return SyncDataOf(fd, path);
  return Status::System("F_FULLFSYNC", errno, path);
}

// msync has no barrier.
Status FinishMapSync(int fd, const std::string& path) { return SyncDataOf(fd, path); }

Status SyncDirectoryOf(int fd, const std::string& path) { return SyncFullOf(fd, path); }

// sync() reports nothing.
Status SyncFileSystemOf(int, const std::string& path) {
  return Status::Error(Code::kUnsupported, "macOS has no syncfs").WithPath(path);
}

}  // namespace durlog
