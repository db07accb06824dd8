#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "platform/posix_cache.h"
#include "platform/posix_file.h"

namespace durlog {

// msync(MS_INVALIDATE) is not used: it would also discard bytes that another writer has stored and
// not yet synced.
Status PosixFile::DropCache() { return Status::Ok(); }

std::optional<CacheUse> PosixFile::CacheUseOf(uint64_t, uint64_t) { return std::nullopt; }

// SEEK_DATA is not used: it is not documented whether it finds data that is only in the cache.
Result<uint64_t> PosixFile::NextData(uint64_t offset) { return offset; }

Result<uint64_t> PosixFile::NextHole(uint64_t) { return UINT64_MAX; }

Result<uint64_t> PosixFile::ModifiedNanos() {
  struct stat info;
  if (fstat(fd_.get(), &info) != 0) return Status::System("fstat", errno, path_);
  return static_cast<uint64_t>(info.st_mtimespec.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(info.st_mtimespec.tv_nsec);
}

// macOS has no read that returns instead of waiting for the device.
std::optional<size_t> PosixFile::ReadCachedAt(uint64_t, void*, size_t) { return std::nullopt; }

ScopedFd OpenCachedOf(int, const char*, int) { return ScopedFd(); }

int DirectOpenFlags() { return 0; }

int DurableOpenFlags() { return 0; }

Status PrepareDirect(int fd, const std::string& path) {
  if (fcntl(fd, F_NOCACHE, 1) != -1) return Status::Ok();
  return Status::System("F_NOCACHE", errno, path).WithCode(Code::kUnsupported);
}

}  // namespace durlog
