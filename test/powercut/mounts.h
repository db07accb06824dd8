// Everything that the rig attaches to the system. Destructors undo each attachment. If the rig is
// killed, the kernel undoes them: the mounts are in the rig's private namespace, and a loop device
// releases its file after its last user has gone.
#pragma once

#include <string>

#include "unix.h"

namespace powercut {

// From now on, only this process and its children see the mounts that they make.
void EnterPrivateMountNamespace();

// From now on, this process and its children read the kernel's boot id from the file `id_path`. The
// mounts that its parent makes and undoes later are also made and undone for them.
void EnterBoot(const std::string& id_path);

class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }
  // Makes an empty folder in this one and returns its path.
  std::string MakeFolder(const std::string& name) const;

 private:
  std::string path_;
};

class LoopDevice {
 public:
  LoopDevice(const std::string& file, bool direct_io);
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;

  const std::string& path() const { return path_; }
  // Empties the kernel's cache of the device, which must not be mounted.
  void DropCache();

 private:
  bool TryAttach(int file, bool direct_io);

  std::string path_;
  UniqueFd device_;  // the open descriptor keeps the device attached between mounts
};

class Mount {
 public:
  // Throws std::system_error if the file system cannot be mounted.
  Mount(const std::string& device, const std::string& directory, const std::string& file_system);
  ~Mount();
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;

  // Returns when the file system has stopped writing. Throws if its files are kept open.
  void Unmount();

 private:
  std::string directory_;
  bool mounted_;
};

}  // namespace powercut
