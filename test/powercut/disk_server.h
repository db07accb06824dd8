// The FUSE file system. `disk` is the disk image of a RecordedDisk; `notes` receives lines from
// programs and places them in the order of the disk's writes. A separate process serves both, so
// that a rig that is killed in the middle of a mount cannot leave that mount waiting for itself.
#pragma once

#include <sys/types.h>

#include <string>

#include "recorded_disk.h"

namespace powercut {

class DiskServer {
 public:
  // Whether the kernel may cache the image above this file system. The rig rewrites the images of
  // rebuilt disks without the kernel's knowledge, so those must not be cached.
  enum class Caching { kPageCache, kNone };

  // Mounts on the existing, empty `mount_point`. `disk` must outlive the server.
  DiskServer(RecordedDisk& disk, std::string mount_point, Caching caching);
  ~DiskServer();
  DiskServer(const DiskServer&) = delete;
  DiskServer& operator=(const DiskServer&) = delete;

  std::string disk_path() const { return mount_point_ + "/disk"; }
  std::string notes_path() const { return mount_point_ + "/notes"; }

 private:
  std::string mount_point_;
  pid_t pid_ = -1;
};

}  // namespace powercut
