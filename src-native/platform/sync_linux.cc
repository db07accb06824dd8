#include <fcntl.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

#include "platform/posix_sync.h"

namespace durlog {
namespace {

// Linux's EXT4_SUPER_MAGIC (of ext2 and ext3 as well) and OVERLAYFS_SUPER_MAGIC, which often lies
// on ext4.
constexpr uint32_t kExt4 = 0xEF53;
constexpr uint32_t kOverlay = 0x794C7630;
// No file has it.
constexpr char kAbsentAttribute[] = "user.durlog";

// On ext4 a sync may return 0 for data that is lost. Data in unwritten extents becomes readable
// when the journal converts the extent, after the data itself was written. If the journal is
// aborted in between because the device failed, the conversion fails without an error on the file,
// and a sync that began earlier returns 0 for blocks that read as zeros after the next mount
// (ext4_put_io_end and jbd2_complete_transaction, Linux 6.18). Removing an attribute that does not
// exist changes nothing, but it needs the journal, which returns EROFS once it is aborted. The call
// takes 1 us.
Status Confirm(int fd, const char* sync, const std::string& path) {
  struct statfs info;
  if (fstatfs(fd, &info) != 0) return Status::Ok();
  const auto type = static_cast<uint32_t>(info.f_type);
  if (type != kExt4 && type != kOverlay) return Status::Ok();
  if (fremovexattr(fd, kAbsentAttribute) == 0 || (errno != EROFS && errno != EIO)) {
    return Status::Ok();
  }
  return Status::System(sync, errno, path)
      .WithMessage("the file system gave up its journal, and with it what the sync wrote");
}

}  // namespace

Status StartWritebackOf(int fd, const std::string& path, uint64_t offset, uint64_t length) {
  if (length == 0) return Status::Ok();  // the call takes 0 for "to the end of the file"
  // SYNC_FILE_RANGE_WRITE alone: the WAIT flags would take the pending writeback error away from
  // the fdatasync that has to report it.
  if (sync_file_range(fd, static_cast<off_t>(offset), static_cast<off_t>(length),
                      SYNC_FILE_RANGE_WRITE) == 0) {
    return Status::Ok();
  }
  // Sandboxes (gVisor, seccomp filters) lack the call; the kernel's flusher writes the data anyway.
  if (errno == ENOSYS || errno == EPERM) return Status::Ok();
  return Status::System("sync_file_range", errno, path).WithOffset(offset);
}

Status SyncDataOf(int fd, const std::string& path) {
  if (fdatasync(fd) == 0) return Confirm(fd, "fdatasync", path);
  return Status::System("fdatasync", errno, path);
}

Status SyncFullOf(int fd, const std::string& path) {
  if (fsync(fd) == 0) return Confirm(fd, "fsync", path);
  return Status::System("fsync", errno, path);
}

// msync(MS_SYNC) is an fsync of the range, the drive's flush included.
Status FinishMapSync(int fd, const std::string& path) { return Confirm(fd, "msync", path); }

Status SyncDirectoryOf(int fd, const std::string& path) {
  if (fsync(fd) == 0) return Status::Ok();
  return Status::System("fsync", errno, path);
}

}  // namespace durlog
