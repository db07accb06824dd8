#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "platform/posix_file.h"
#include "platform/posix_sync.h"

namespace durlog {
namespace {

// fsync on macOS writes the data to the drive, but the drive may keep it in its cache and write it
// to the medium in any order. A record's synced end states that earlier records are synced, so if
// the record survives a power cut, these records must survive too. The barrier prevents the drive
// from writing later data before the present data, at a fraction of the cost of F_FULLFSYNC.
Status SyncDataOf(int fd, const std::string& path) {
  if (fcntl(fd, F_BARRIERFSYNC) == 0) return Status::Ok();
  // Network volumes and foreign file systems do not support the barrier, and refuse it before
  // anything is written. So this is the first sync of the data, not a retry.
  if (errno != ENOTSUP && errno != ENOTTY && errno != EINVAL) {
    return Status::OfSync("F_BARRIERFSYNC", errno, path);
  }
  if (fsync(fd) == 0) return Status::Ok();
  return Status::OfSync("fsync", errno, path);
}

}  // namespace

// macOS has no call that starts the writeback of a range. The system writes the data later.
Status PosixFile::StartWriteback(uint64_t, uint64_t) { return Status::Ok(); }

Status PosixFile::SyncData() { return SyncDataOf(fd_.get(), path_); }

Status SyncFullOf(int fd, const std::string& path) {
  if (fcntl(fd, F_FULLFSYNC) == 0) return Status::Ok();
  // Not a retry: see above.
  if (errno == ENOTSUP || errno == ENOTTY || errno == EINVAL) return SyncDataOf(fd, path);
  return Status::OfSync("F_FULLFSYNC", errno, path);
}

// There is no variant of msync with a barrier, and F_NOCACHE, which direct writes use, keeps data
// out of the cache and promises nothing about when it is written.
Status FinishSync(int fd, const char*, const std::string& path) { return SyncDataOf(fd, path); }

// Not supported: sync() does not report errors.
Status SyncFileSystemOf(int, const std::string& path) {
  return Status::Error(Code::kUnsupported, "macOS has no syncfs").WithPath(path);
}

}  // namespace durlog
