#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "platform/posix_cache.h"
#include "platform/posix_fault_guard.h"
#include "platform/posix_file.h"

namespace durlog {
namespace {

// cachestat(2), of Linux 6.5: C libraries have neither its number nor its structures yet. The
// number is the same on every processor.
constexpr long kCachestatCall = 451;
struct CachestatRange {
  uint64_t offset;
  uint64_t length;
};
struct CachestatPages {
  uint64_t cached;
  uint64_t dirty;
  uint64_t writeback;
  uint64_t evicted;
  uint64_t recently_evicted;
};

// openat2(2), of Linux 5.6, and its flag of Linux 5.12.
constexpr long kOpenat2Call = 437;
constexpr uint64_t kResolveCached = 0x20;
struct OpenHow {
  uint64_t flags;
  uint64_t mode;
  uint64_t resolve;
};

}  // namespace

// Drops the pages of the whole file: large folios that extend beyond a range would not be dropped.
Status PosixFile::DropCache() {
  const int error = posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);
  // Sandboxes without the call have no page cache to drop.
  if (error == 0 || error == ENOSYS || error == EPERM) return Status::Ok();
  return Status::System("posix_fadvise", error, path_);
}

// Older kernels and sandboxes do not have the call.
std::optional<CacheUse> PosixFile::CacheUseOf(uint64_t offset, uint64_t length) {
  CachestatRange range = {offset, length};
  CachestatPages pages = {};
  if (length == 0 || syscall(kCachestatCall, fd_.get(), &range, &pages, 0) != 0)
    return std::nullopt;
  const uint64_t page_bytes = PageBytes();
  return CacheUse{pages.cached * page_bytes, pages.dirty * page_bytes};
}

// Dirty pages over unwritten extents count as data, so nothing that was written is passed over.
Result<uint64_t> PosixFile::NextData(uint64_t offset) {
  const off_t at = lseek(fd_.get(), static_cast<off_t>(offset), SEEK_DATA);
  if (at >= 0) return static_cast<uint64_t>(at);
  if (errno == ENXIO) return UINT64_MAX;
  if (errno == EINVAL || errno == EOPNOTSUPP) return offset;
  return Status::System("lseek", errno, path_).WithOffset(offset);
}

Result<uint64_t> PosixFile::NextHole(uint64_t offset) {
  const off_t at = lseek(fd_.get(), static_cast<off_t>(offset), SEEK_HOLE);
  if (at < 0) return Status::System("lseek", errno, path_).WithOffset(offset);
  DURLOG_ASSIGN_OR_RETURN(const uint64_t size, Size());
  // Every file ends with a hole, and that is the only one if the file system reports none.
  return static_cast<uint64_t>(at) < size ? static_cast<uint64_t>(at) : UINT64_MAX;
}

Result<uint64_t> PosixFile::ModifiedNanos() {
  struct stat info;
  if (fstat(fd_.get(), &info) != 0) return Status::System("fstat", errno, path_);
  return static_cast<uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(info.st_mtim.tv_nsec);
}

// Makes the system call directly, because only recent C libraries wrap it. On 64-bit systems the
// offset is one argument and the second half is ignored. File systems without RWF_NOWAIT, and some
// sandboxes, return an error.
std::optional<size_t> PosixFile::ReadCachedAt(uint64_t offset, void* to, size_t length) {
  const struct iovec range = {to, length};
  const long read = syscall(SYS_preadv2, fd_.get(), &range, 1, offset, 0, RWF_NOWAIT);
  if (read < 0) return std::nullopt;
  return static_cast<size_t>(read);
}

ScopedFd OpenCachedOf(int folder, const char* name, int flags) {
  const OpenHow how = {static_cast<uint64_t>(flags), 0, kResolveCached};
  return ScopedFd(static_cast<int>(syscall(kOpenat2Call, folder, name, &how, sizeof how)));
}

int DirectOpenFlags() { return O_DIRECT; }

int DurableOpenFlags() { return O_DSYNC; }

Status PrepareDirect(int, const std::string&) { return Status::Ok(); }

}  // namespace durlog
