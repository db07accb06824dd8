// A program of the seam (workload, verifier) or of the system (mkfs) as a child: started by the
// shell, spoken to in lines, killed with everything it started when the rig is done with it.
#ifndef DURLOG_TEST_POWERCUT_CHILD_H_
#define DURLOG_TEST_POWERCUT_CHILD_H_

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

  // Runs `command` by /bin/sh. Its standard error is the rig's.
  Child(const std::string& command, const Environment& environment);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // False if the child no longer reads.
  bool Send(const std::string& text);
  // The next line of its standard output; nothing at its end or when the time is up.
  std::optional<std::string> ReadLine(int timeout_ms);
  // Waits for its end: "" if it exited with 0, else what happened. Killed when the time is up.
  std::string Wait(int timeout_ms);
  // Kills it if it still runs: how it had ended, or that it did not answer.
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

#endif  // DURLOG_TEST_POWERCUT_CHILD_H_
