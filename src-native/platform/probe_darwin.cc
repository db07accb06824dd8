#include <sys/mount.h>
#include <sys/param.h>

#include <cerrno>

#include "platform/posix_directory.h"
#include "platform/posix_fault_guard.h"
#include "platform/posix_fd.h"

namespace durlog {

Result<Capabilities> ProbeDirectory(int fd, const std::string& path) {
  struct statfs info;
  if (RetryInterrupted([&] { return fstatfs(fd, &info); }) != 0) {
    return Status::System("fstatfs", errno, path);
  }
  Capabilities found;
  found.file_system = info.f_fstypename;
  const bool is_hfs = found.file_system == "hfs";
  // APFS copies on write. The older local file system, HFS+, overwrites in place.
  found.overwrites_in_place = is_hfs;
  found.direct_io = is_hfs || found.file_system == "apfs";
  found.shares_maps = (info.f_flags & MNT_LOCAL) != 0;
  found.keeps_file_ids = is_hfs || found.file_system == "apfs";
  found.map_alignment = static_cast<uint32_t>(PageBytes());
  return found;
}

}  // namespace durlog
