// The verifier program of the seam: it stays resident over thousands of disks, and is started
// anew when it died or did not answer.
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
  // `notes_path` takes the verifier's own notes; `recorded_path` will hold the workload's.
  Verifier(std::string command, std::string notes_path, std::string recorded_path,
           std::string seed);

  struct Question {
    std::string directory;
    uint64_t notes;  // of the workload's notes, so many were made before the cut
    std::vector<std::string> again_notes;  // its own of the first disk, before the second cut
    bool again;                            // a second cut
  };
  struct Answer {
    bool ok;
    std::string text;  // what the recovery found (any word), or the violation
  };
  Answer Ask(const Question& question);
  // Ends the program, and with it its hold on any file.
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
