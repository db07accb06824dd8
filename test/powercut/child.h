// A child process: a program of the seam (workload, verifier) or of the system (mkfs). The shell
// starts it, and it exchanges lines with the rig. At the end the rig kills it with all of its
// children.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unix.h"

namespace powercut {

class Child {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  // Runs `command` with /bin/sh. It shares the rig's standard error. If `boot_id_path` is not
  // empty, it runs as in the boot whose id is in that file.
  Child(const std::string& command, const Environment& environment,
        const std::string& boot_id_path = "");
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns false if the child no longer reads.
  bool Send(const std::string& text);
  // Returns the next line of its standard output, or nullopt at the end or after the timeout.
  std::optional<std::string> ReadLine(int timeout_ms);
  // Waits for its end and kills it after the timeout. Returns "" if it exited with 0, otherwise a
  // description.
  std::string Wait(int timeout_ms);
  // Kills it if it still runs. Returns how it had ended, or that it did not answer.
  std::string Kill();

 private:
  std::string Reap(int options);

  pid_t pid_ = -1;
  UniqueFd to_;
  UniqueFd from_;
  std::string received_;
};

// Runs `command` to its end; throws unless it exits with 0.
void RunCommand(const std::string& command);

}  // namespace powercut
