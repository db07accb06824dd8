#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <cerrno>

#include "platform/linux_ioctl.h"
#include "platform/posix_fd.h"
#include "platform/posix_preallocate.h"

namespace durlog {
namespace {

int ModeOf(Preallocation how) {
  if (how == Preallocation::kKeepSize) return FALLOC_FL_KEEP_SIZE;
  return how == Preallocation::kZeroRange ? FALLOC_FL_ZERO_RANGE : 0;
}

}  // namespace

// fallocate(2) itself and not posix_fallocate: where the file system has no such call, glibc
// writes a byte into every block, which is slow, races with other writers and allocates nothing
// on copy-on-write file systems.
Status AllocateBlocks(int fd, const std::string& path, Preallocation how, uint64_t offset,
                      uint64_t length) {
  if (RetryInterrupted([&] {
        return fallocate(fd, ModeOf(how), static_cast<off_t>(offset), static_cast<off_t>(length));
      }) == 0) {
    return Status::Ok();
  }
  const int error = errno;
  Status status = Status::System("fallocate", error, path).WithOffset(offset);
  if (error == EOPNOTSUPP || error == ENOSYS) {
    return std::move(status).WithCode(Code::kUnsupported);
  }
  return status;
}

Status SetExtentSizeHintOf(int fd, const std::string& path, uint32_t bytes) {
  // Asked first, because other file systems take the call and ignore the hint.
  struct statfs info;
  if (fstatfs(fd, &info) != 0) return Status::System("fstatfs", errno, path);
  if (static_cast<uint32_t>(info.f_type) != XFS_SUPER_MAGIC) {
    return Status::Error(Code::kUnsupported, "only XFS takes an extent size hint").WithPath(path);
  }
  struct fsxattr attributes;
  if (Ioctl(fd, FS_IOC_FSGETXATTR, &attributes) != 0) {
    return Status::System("FS_IOC_FSGETXATTR", errno, path);
  }
  attributes.fsx_xflags |= FS_XFLAG_EXTSIZE;
  attributes.fsx_extsize = bytes;
  if (Ioctl(fd, FS_IOC_FSSETXATTR, &attributes) != 0) {
    return Status::System("FS_IOC_FSSETXATTR", errno, path);
  }
  return Status::Ok();
}

}  // namespace durlog
