#include "bench/scratch_file.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "bench/linux_ioctl.h"

namespace durlog::bench {

namespace {

constexpr uint64_t kFillBytes = 1u << 20;
constexpr uint32_t kExtentHintBytes = 1u << 20;

Status FillFile(int fd, const std::string& path, uint8_t value, uint64_t bytes) {
  DURLOG_ASSIGN_OR_RETURN(AlignedBuffer buffer, MakeZeroedBuffer(kFillBytes));
  std::memset(buffer.data(), value, kFillBytes);
  for (uint64_t at = 0; at < bytes;) {
    const size_t length = static_cast<size_t>(std::min(kFillBytes, bytes - at));
    const ssize_t written = pwrite(fd, buffer.data(), length, static_cast<off_t>(at));
    if (written < 0) return Status::System("pwrite", errno, path);
    at += static_cast<uint64_t>(written);
  }
  return Status::Ok();
}

Status Allocate(int fd, const std::string& path, int mode, uint64_t bytes) {
  if (fallocate(fd, mode, 0, static_cast<off_t>(bytes)) == 0) return Status::Ok();
  return Status::System("fallocate", errno, path);
}

Status Resize(int fd, const std::string& path, uint64_t bytes) {
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0) return Status::Ok();
  return Status::System("ftruncate", errno, path);
}

Status Preallocate(int fd, const std::string& path, const std::string& how, uint64_t bytes) {
  if (how == "none") return Status::Ok();
  if (how == "sparse") return Resize(fd, path, bytes);
  if (how == "fallocate") return Allocate(fd, path, 0, bytes);
  if (how == "keep-size") return Allocate(fd, path, FALLOC_FL_KEEP_SIZE, bytes);
  if (how == "zero-range") return Allocate(fd, path, FALLOC_FL_ZERO_RANGE, bytes);
  if (how == "hint") {
    DURLOG_RETURN_IF_ERROR(SetExtentSizeHint(fd, kExtentHintBytes, path));
    return Resize(fd, path, bytes);
  }
  if (how == "zero" || how == "data") {
    // Allocated first, so that the extents are as long as those of a fallocated file.
    const Status allocated = Allocate(fd, path, 0, bytes);
    if (!allocated.ok() && allocated.sys_errno() != EOPNOTSUPP) return allocated;
    return FillFile(fd, path, how == "zero" ? 0 : 0xA5, bytes);
  }
  return Status::Error(Code::kInvalidArgument, "unknown preallocation '" + how + "'");
}

Status SyncFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  DURLOG_ASSIGN_OR_RETURN(ScopedFd fd, OpenFile(folder, O_RDONLY | O_DIRECTORY));
  return fsync(fd.get()) == 0 ? Status::Ok() : Status::System("fsync", errno, folder);
}

}  // namespace

Result<AlignedBuffer> MakeZeroedBuffer(size_t bytes) {
  AlignedBuffer buffer;
  if (!buffer.Reserve(bytes, 0)) return Status::System("operator new", ENOMEM, "");
  std::memset(buffer.data(), 0, bytes);
  return buffer;
}

Result<ScopedFd> OpenFile(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (fd < 0) return Status::System("open", errno, path);
  return ScopedFd(fd);
}

Status CloseFile(ScopedFd* file, const std::string& path) {
  const int fd = file->Release();
  if (fd < 0 || close(fd) == 0) return Status::Ok();
  return Status::System("close", errno, path);
}

Status PrepareFile(const std::string& path, const std::string& preallocate, uint64_t bytes) {
  DURLOG_ASSIGN_OR_RETURN(ScopedFd file, OpenFile(path, O_RDWR | O_CREAT | O_TRUNC));
  DURLOG_RETURN_IF_ERROR(Preallocate(file.get(), path, preallocate, bytes));
  if (fsync(file.get()) != 0) return Status::System("fsync", errno, path);
  // Large folios that stay in the cache would make every later msync write a whole folio.
  static_cast<void>(posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED));
  return SyncFolderOf(path);
}

Status SetExtentSizeHint(int fd, uint32_t bytes, const std::string& path) {
  fsxattr attributes{};
  if (Ioctl(fd, FS_IOC_FSGETXATTR, &attributes) != 0) {
    return Status::System("ioctl(FS_IOC_FSGETXATTR)", errno, path);
  }
  attributes.fsx_xflags |= FS_XFLAG_EXTSIZE;
  attributes.fsx_extsize = bytes;
  if (Ioctl(fd, FS_IOC_FSSETXATTR, &attributes) != 0) {
    return Status::System("ioctl(FS_IOC_FSSETXATTR)", errno, path);
  }
  // ext4 reports success but ignores the hint.
  if (Ioctl(fd, FS_IOC_FSGETXATTR, &attributes) == 0 && attributes.fsx_extsize == bytes) {
    return Status::Ok();
  }
  return Status::Error(Code::kUnsupported, "this file system has no extent size hint");
}

bool SurvivesOverwrite(const std::string& preallocate) {
  return preallocate == "zero" || preallocate == "data";
}

}  // namespace durlog::bench
