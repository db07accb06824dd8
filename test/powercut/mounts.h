// Everything the rig attaches to the system, each undone by its destructor; and, should the rig
// itself be killed, by the kernel: the mounts live in a namespace of the rig's own, and a loop
// device lets go of its file when its last user is gone.
#ifndef DURLOG_TEST_POWERCUT_MOUNTS_H_
#define DURLOG_TEST_POWERCUT_MOUNTS_H_

#include <string>

#include "unix.h"

namespace powercut {

// From here on this process and its children see mounts of their own; nobody else sees them.
void EnterPrivateMountNamespace();

class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }
  // Makes an empty folder in it and returns its path.
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
  // Empties the kernel's cache of the device. Nothing may be mounted from it.
  void DropCache();

 private:
  bool TryAttach(int file, bool direct_io);

  std::string path_;
  UniqueFd device_;  // holding it open keeps the device attached between mounts
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

#endif  // DURLOG_TEST_POWERCUT_MOUNTS_H_
