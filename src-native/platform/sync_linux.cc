#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "platform/posix_sync.h"

namespace durlog {

Status StartWritebackOf(int fd, const std::string& path, uint64_t offset, uint64_t length) {
  if (length == 0) return Status::Ok();  // the call takes 0 for "to the end of the file"
  // SYNC_FILE_RANGE_WRITE alone: the WAIT flags would take the pending writeback error away from
  // the fdatasync that has to report it.
  if (sync_file_range(fd, static_cast<off_t>(offset), static_cast<off_t>(length),
                      SYNC_FILE_RANGE_WRITE) == 0) {
    return Status::Ok();
  }
  // Sandboxes (gVisor, seccomp filters) leave it out; the kernel's flusher comes by all the same.
  if (errno == ENOSYS || errno == EPERM) return Status::Ok();
  return Status::System("sync_file_range", errno, path).WithOffset(offset);
}

Status SyncDataOf(int fd, const std::string& path) {
  if (fdatasync(fd) == 0) return Status::Ok();
  return Status::System("fdatasync", errno, path);
}

Status SyncFullOf(int fd, const std::string& path) {
  if (fsync(fd) == 0) return Status::Ok();
  return Status::System("fsync", errno, path);
}

// msync(MS_SYNC) is an fsync of the range, the drive's flush included.
Result<ScopedFd> OpenForMapSync(int, const std::string&) { return ScopedFd(); }

Status FinishMapSync(const ScopedFd&, const std::string&) { return Status::Ok(); }

Status SyncDirectoryOf(int fd, const std::string& path) { return SyncFullOf(fd, path); }

}  // namespace durlog
