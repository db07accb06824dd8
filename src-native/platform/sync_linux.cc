#include <fcntl.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "platform/posix_file.h"
#include "platform/posix_sync.h"

namespace durlog {
namespace {

// Linux's EXT4_SUPER_MAGIC (of ext2 and ext3 as well) and OVERLAYFS_SUPER_MAGIC, which often lies
// on ext4 or XFS.
constexpr uint32_t kExt4 = 0xEF53;
constexpr uint32_t kOverlay = 0x794C7630;
constexpr uint32_t kXfs = 0x58465342;
constexpr uint32_t kBtrfs = 0x9123683E;
// An attribute that no file has.
constexpr char kAbsentAttribute[] = "user.durlog";

bool KernelIsAtLeast(int major, int minor) {
  struct utsname system;
  int found_major = 0;
  int found_minor = 0;
  if (uname(&system) != 0 ||
      std::sscanf(system.release, "%d.%d", &found_major, &found_minor) != 2) {
    return false;
  }
  return found_major > major || (found_major == major && found_minor >= minor);
}

bool ReportsToSyncfs(const struct statfs& info) {
  const auto type = static_cast<uint32_t>(info.f_type);
  return type == kExt4 || type == kXfs || type == kBtrfs;
}

}  // namespace

// On ext4 and XFS a sync may return 0 for data that is lost. Data in unwritten extents becomes
// readable when the journal has converted the extent, after the data itself was written. If the
// device fails and the journal is aborted in between, ext4 reports no error of the conversion on
// the file, and a sync that began earlier finds nothing more to wait for and returns 0, although
// the blocks read as zeros after the next mount (ext4_put_io_end, jbd2_complete_transaction and
// xfs_fsync_flush_log, Linux 6.18; on XFS also an O_DSYNC write and the fsync of a folder).
// Removing an attribute that does not exist changes nothing, but both file systems refuse it with
// EROFS or EIO from before the moment at which such a sync can return. The calls take 1 us.
Status FinishSync(int fd, const char* call, const std::string& path) {
  struct statfs info;
  if (fstatfs(fd, &info) != 0) return Status::Ok();
  const auto type = static_cast<uint32_t>(info.f_type);
  if (type != kExt4 && type != kXfs && type != kOverlay) return Status::Ok();
  if (fremovexattr(fd, kAbsentAttribute) == 0 || (errno != EROFS && errno != EIO)) {
    return Status::Ok();
  }
  return Status::OfSync(call, errno, path)
      .WithMessage("the file system has stopped after an error, and the synced data may be lost");
}

Status PosixFile::StartWriteback(uint64_t offset, uint64_t length) {
  if (length == 0) return Status::Ok();  // for the call, 0 means "to the end of the file"
  // Only SYNC_FILE_RANGE_WRITE: with the WAIT flags, the call would consume a pending writeback
  // error that the next fdatasync must report.
  if (sync_file_range(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(length),
                      SYNC_FILE_RANGE_WRITE) == 0) {
    return Status::Ok();
  }
  // Sandboxes (gVisor, seccomp filters) lack the call; the kernel's flusher writes the data anyway.
  if (errno == ENOSYS || errno == EPERM) return Status::Ok();
  return Status::OfSync("sync_file_range", errno, path_).WithOffset(offset);
}

Status PosixFile::SyncData() {
  if (fdatasync(fd_.get()) == 0) return FinishSync(fd_.get(), "fdatasync", path_);
  return Status::OfSync("fdatasync", errno, path_);
}

Status SyncFullOf(int fd, const std::string& path) {
  if (fsync(fd) == 0) return FinishSync(fd, "fsync", path);
  return Status::OfSync("fsync", errno, path);
}

// Since Linux 5.8 syncfs reports a failed writeback of any file of the superblock once to each
// descriptor that was open before. Overlay and network file systems have a superblock that is not
// the one that the writeback belongs to.
Status SyncFileSystemOf(int fd, const std::string& path) {
  struct statfs info;
  if (!KernelIsAtLeast(5, 8) || fstatfs(fd, &info) != 0 || !ReportsToSyncfs(info)) {
    return Status::Error(Code::kUnsupported, "syncfs does not report every failed write here")
        .WithPath(path);
  }
  if (syncfs(fd) == 0) return FinishSync(fd, "syncfs", path);
  return Status::OfSync("syncfs", errno, path);
}

}  // namespace durlog
