#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "platform/posix_directory.h"
#include "platform/posix_fault_guard.h"
#include "platform/posix_fd.h"
#include "platform/posix_system.h"

namespace durlog {
namespace {

struct KnownFileSystem {
  uint32_t magic;
  const char* name;
  // Whether a write to allocated blocks overwrites these blocks. False for file systems that copy
  // on write, and for stacked file systems, for which the behaviour is unknown.
  bool overwrites_in_place;
  // Whether all processes that use the file system run on one kernel, with one page cache.
  bool is_local;
  // Whether a file has the same identity after it was closed and opened again.
  bool keeps_file_ids;
};

// Numbers are used for file systems that older versions of linux/magic.h do not name. The ext file
// systems share one number. XFS overwrites in place, except in files that share extents (cp
// --reflink), which segments do not.
constexpr KnownFileSystem kKnownFileSystems[] = {
    {EXT4_SUPER_MAGIC, "ext4", true, true, true},
    {0x58465342, "xfs", true, true, true},
    {TMPFS_MAGIC, "tmpfs", true, true, true},
    {BTRFS_SUPER_MAGIC, "btrfs", false, true, true},
    {0x2fc12fc1, "zfs", false, true, true},
    {0xca451a4e, "bcachefs", false, true, true},
    {0xf2f52010, "f2fs", false, true, true},
    {OVERLAYFS_SUPER_MAGIC, "overlay", false, true, true},
    {NFS_SUPER_MAGIC, "nfs", false, false, false},
    {0xff534d42, "cifs", false, false, false},
    {0xfe534d42, "smb2", false, false, false},
    {0x65735546, "fuse", false, false, false},
    {0x01021997, "9p", false, false, false},
    {MSDOS_SUPER_MAGIC, "vfat", false, true, false},
    {0x2011bab0, "exfat", false, true, false},
};

// The part of the kernel's struct statx that matters, by its offsets: libc headers older than
// Linux 6.1 lack these fields, and the layout never changes.
struct DirectAlignment {
  bool known = false;
  uint32_t memory = 0;
  uint32_t offset = 0;
};

DirectAlignment AskDirectAlignment(int fd) {
  constexpr unsigned kStatxDioAlign = 0x2000;
  constexpr size_t kMaskAt = 0, kMemoryAlignAt = 0x98, kOffsetAlignAt = 0x9c, kStatxBytes = 0x100;
  uint8_t answer[kStatxBytes] = {};
  DirectAlignment result;
  if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, kStatxDioAlign, answer) != 0) return result;
  uint32_t mask;
  std::memcpy(&mask, answer + kMaskAt, sizeof mask);
  std::memcpy(&result.memory, answer + kMemoryAlignAt, sizeof result.memory);
  std::memcpy(&result.offset, answer + kOffsetAlignAt, sizeof result.offset);
  result.known = (mask & kStatxDioAlign) != 0;
  return result;
}

// Creates a file without a name. If the file system has no O_TMPFILE, removes the name at once.
ScopedFd OpenDirectProbe(int directory) {
  constexpr int kFlags = O_RDWR | O_DIRECT | O_CLOEXEC;
  ScopedFd fd(RetryInterrupted([&] { return openat(directory, ".", kFlags | O_TMPFILE, 0600); }));
  if (fd.valid() || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return fd;
  char name[48];
  std::snprintf(name, sizeof name, ".durlog-probe-%016llx",
                static_cast<unsigned long long>(SystemRandom64()));
  constexpr int kCreate = kFlags | O_CREAT | O_EXCL | O_NOFOLLOW;
  fd.Reset(RetryInterrupted([&] { return openat(directory, name, kCreate, 0600); }));
  // Also after a failure: a file system that refuses O_DIRECT may have created the file first.
  if (fd.valid() || errno == EINVAL) unlinkat(directory, name, 0);
  return fd;
}

bool DirectWriteWorks(int fd) {
  alignas(4096) static const uint8_t kZeros[4096] = {};
  // Only EINVAL means that direct I/O is not possible; the disk may just be full.
  return pwrite(fd, kZeros, sizeof kZeros, 0) >= 0 || errno != EINVAL;
}

void ProbeDirect(int directory, Capabilities* found) {
  const ScopedFd fd = OpenDirectProbe(directory);
  if (!fd.valid()) return;
  const DirectAlignment alignment = AskDirectAlignment(fd.get());
  if (!alignment.known) {
    found->direct_io = DirectWriteWorks(fd.get());
    return;
  }
  found->direct_io = alignment.offset != 0 && alignment.memory != 0;
  found->direct_alignment = std::max({found->direct_alignment, alignment.offset, alignment.memory});
}

}  // namespace

Result<Capabilities> ProbeDirectory(int fd, const std::string& path) {
  struct statfs info;
  if (RetryInterrupted([&] { return fstatfs(fd, &info); }) != 0) {
    return Status::System("fstatfs", errno, path);
  }
  Capabilities found;
  found.file_system = "unknown";
  for (const KnownFileSystem& known : kKnownFileSystems) {
    if (known.magic != static_cast<uint32_t>(info.f_type)) continue;
    found.file_system = known.name;
    found.overwrites_in_place = known.overwrites_in_place;
    found.shares_maps = known.is_local;
    found.keeps_file_ids = known.keeps_file_ids;
  }
  found.map_alignment = static_cast<uint32_t>(PageBytes());
  ProbeDirect(fd, &found);
  return found;
}

}  // namespace durlog
