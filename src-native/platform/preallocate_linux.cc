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

// fallocate(2) itself and not posix_fallocate: where the file system has no such call, glibc
// writes a byte into every block, which is slow, races with other writers and allocates nothing
// on copy-on-write file systems.
Status Fallocate(int fd, const std::string& path, int mode, uint64_t offset, uint64_t length) {
  if (RetryInterrupted([&] {
        return fallocate(fd, mode, static_cast<off_t>(offset), static_cast<off_t>(length));
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

}  // namespace

Status AllocateIn(int fd, const std::string& path, Preallocation how, uint64_t offset,
                  uint64_t length) {
  if (length == 0) return Status::Ok();
  switch (how) {
    case Preallocation::kNone:
      return Status::Ok();
    case Preallocation::kSparse:
      return ExtendTo(fd, path, offset + length);
    case Preallocation::kFallocate:
      return Fallocate(fd, path, 0, offset, length);
    case Preallocation::kKeepSize:
      return Fallocate(fd, path, FALLOC_FL_KEEP_SIZE, offset, length);
    case Preallocation::kZeroRange:
      return Fallocate(fd, path, FALLOC_FL_ZERO_RANGE, offset, length);
    case Preallocation::kZero:
    case Preallocation::kRecycle:
      break;
  }
  return Status::Error(Code::kInvalidArgument, "this preallocation is not the platform's to do")
      .WithPath(path);
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
