// A disk that fails on demand. A driver program controls it with one command per line:
//
//   fresh                a new file system, mounted: answers "ok <directory>"
//   arm write|flush <nth> <errno> <ms>
//                        the n-th from now fails with errno, or (errno 0) is delayed by <ms>
//   fired                answers "ok <how often the fault has struck>"
//   remount              unmounts and mounts again
//   off                  cuts the power: no later write reaches the disk
//   on                   restores the power: the disk has its flushed contents, and is mounted
//   tell <text>          prints the text; no answer
//
// The other answers are "ok", or "failed" and the reason. The trial ends with the driver.
#pragma once

#include <memory>
#include <string>

#include "child.h"
#include "disk_server.h"
#include "file_systems.h"
#include "mounts.h"

namespace powercut {

class FaultTrial {
 public:
  FaultTrial(const FileSystem& file_system, const std::string& driver);

  // Serves the driver until it ends. Returns "" if it exited with 0, otherwise a description.
  std::string Run();

 private:
  std::string Answer(const std::string& line);
  void Fresh();
  void Arm(const std::string& arguments);
  void MountAgain();

  const FileSystem& file_system_;
  const ScratchDirectory scratch_;
  const std::string directory_;
  RecordedDisk disk_;
  const DiskServer server_;
  LoopDevice loop_;
  std::unique_ptr<Mount> mount_;
  Child driver_;
};

}  // namespace powercut
