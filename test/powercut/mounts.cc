#include "mounts.h"

#include <linux/fs.h>
#include <linux/loop.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

namespace powercut {

void EnterPrivateMountNamespace() {
  if (unshare(CLONE_NEWNS) != 0) ThrowErrno("unshare of the mount namespace");
  // Shared by the namespaces that EnterBoot() makes of this one.
  for (const unsigned long propagation : {MS_PRIVATE, MS_SHARED}) {
    if (mount(nullptr, "/", nullptr, MS_REC | propagation, nullptr) != 0) {
      ThrowErrno("making the mounts private");
    }
  }
}

void EnterBoot(const std::string& id_path) {
  if (unshare(CLONE_NEWNS) != 0) ThrowErrno("unshare of the mount namespace");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    ThrowErrno("receiving the mounts of the rig");
  }
  if (mount(id_path.c_str(), "/proc/sys/kernel/random/boot_id", nullptr, MS_BIND, nullptr) != 0) {
    ThrowErrno("mount of the boot id " + id_path);
  }
}

ScratchDirectory::ScratchDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "powercut-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) ThrowErrno("mkdtemp " + name);
  path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ScratchDirectory::MakeFolder(const std::string& name) const {
  const std::string folder = path_ + "/" + name;
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) ThrowErrno("mkdir " + folder);
  return folder;
}

LoopDevice::LoopDevice(const std::string& file, bool direct_io) {
  const UniqueFd backing = Open(file, O_RDWR);
  constexpr int kAttempts = 50;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (TryAttach(backing.get(), direct_io)) return;
  }
  ThrowErrno("attaching a loop device to " + file);
}

// Returns false if another process took the free device first.
bool LoopDevice::TryAttach(int file, bool direct_io) {
  const UniqueFd control = Open("/dev/loop-control", O_RDWR);
  const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
  if (number < 0) ThrowErrno("finding a free loop device");
  path_ = "/dev/loop" + std::to_string(number);
  const UniqueFd writable = Open(path_, O_RDWR);
  loop_config config = {};
  config.fd = static_cast<__u32>(file);
  config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
  if (direct_io) config.info.lo_flags |= LO_FLAGS_DIRECT_IO;
  if (ioctl(writable.get(), LOOP_CONFIGURE, &config) != 0) {
    if (errno == EBUSY) return false;
    ThrowErrno("LOOP_CONFIGURE of " + path_);
  }
  device_ = Open(path_, O_RDONLY);
  loop_info64 info = {};
  if (ioctl(device_.get(), LOOP_GET_STATUS64, &info) != 0) ThrowErrno("LOOP_GET_STATUS64");
  if (((info.lo_flags & LO_FLAGS_DIRECT_IO) != 0) != direct_io) {
    throw std::runtime_error(path_ + " did not take the direct-io setting");
  }
  return true;
}

void LoopDevice::DropCache() {
  if (ioctl(device_.get(), BLKFLSBUF) != 0) ThrowErrno("BLKFLSBUF of " + path_);
}

Mount::Mount(const std::string& device, const std::string& directory,
             const std::string& file_system)
    : directory_(directory), mounted_(false) {
  if (mount(device.c_str(), directory.c_str(), file_system.c_str(), 0, nullptr) != 0) {
    ThrowErrno("mount of " + device + " as " + file_system);
  }
  mounted_ = true;
}

void Mount::Unmount() {
  constexpr int kAttempts = 300;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (umount2(directory_.c_str(), UMOUNT_NOFOLLOW) == 0) {
      mounted_ = false;
      return;
    }
    if (errno != EBUSY) break;
    usleep(10000);
  }
  ThrowErrno("unmount of " + directory_);
}

Mount::~Mount() {
  if (!mounted_) return;
  try {
    Unmount();
  } catch (const std::system_error&) {
    umount2(directory_.c_str(), MNT_DETACH);
  }
}

}  // namespace powercut
