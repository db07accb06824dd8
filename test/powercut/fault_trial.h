// A disk that fails on demand, under a driver that says when, one line a command:
//
//   fresh                a new file system, mounted: answers "ok <directory>"
//   arm write|flush <nth> <errno> <ms>
//                        the n-th from now fails with errno, or (errno 0) is late by so much
//   fired                answers "ok <how often the fault has struck>"
//   remount              unmounts, and mounts again
//   off                  the power goes: nothing reaches the disk from here on
//   on                   and comes back: the disk as its flushes had left it, mounted
//   tell <text>          prints the text; no answer
//
// The other answers are "ok", or "failed" and why. The driver's end is the trial's.
#ifndef DURLOG_TEST_POWERCUT_FAULT_TRIAL_H_
#define DURLOG_TEST_POWERCUT_FAULT_TRIAL_H_

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

  // Until the driver ends: "" if it exited with 0, else what happened.
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

#endif  // DURLOG_TEST_POWERCUT_FAULT_TRIAL_H_
