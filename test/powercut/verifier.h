// The verifier program of the seam. It checks thousands of disks in one process, and is restarted
// if it dies or does not answer.
#ifndef DURLOG_TEST_POWERCUT_VERIFIER_H_
#define DURLOG_TEST_POWERCUT_VERIFIER_H_

#include <memory>
#include <string>
#include <vector>

#include "child.h"
#include "recording.h"

namespace powercut {

class Verifier {
 public:
  // The verifier writes its own notes to `notes_path`; `recorded_path` will hold the workload's.
  Verifier(std::string command, std::string notes_path, std::string recorded_path,
           std::string seed);

  struct Question {
    std::string directory;
    uint64_t notes;  // how many of the workload's notes were made before the cut
    std::vector<std::string> again_notes;  // its own notes on the first disk, before the second cut
    bool again;                            // whether this is a second cut
  };
  struct Answer {
    bool ok;
    std::string text;  // the result of the recovery (any word), or the violation
  };
  Answer Ask(const Question& question);
  // Ends the program, which closes its files.
  void Kill() { child_.reset(); }

 private:
  std::string command_;
  Child::Environment environment_;
  std::unique_ptr<Child> child_;
};

// Writes the lines of `recording`'s notes to a file for the verifier.
void WriteNotes(const Recording& recording, const std::string& path);

}  // namespace powercut

#endif  // DURLOG_TEST_POWERCUT_VERIFIER_H_
