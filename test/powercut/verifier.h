// The verifier program of the seam. One process checks the disks of first cuts, and another one
// those of second cuts: a machine boots after each power cut, so that the workload and both
// processes run in different boots. A process that dies or does not answer is started again.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "child.h"
#include "recording.h"

namespace powercut {

class Verifier {
 public:
  // The verifier writes its own notes to `notes_path`. The file "recorded" in the folder `scratch`
  // will hold the workload's.
  Verifier(std::string command, const std::string& notes_path, const std::string& scratch,
           const std::string& seed);

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
  void Kill();

 private:
  // After the first or the second cut.
  struct Boot {
    Child::Environment environment;
    std::string id_path;
    std::unique_ptr<Child> child;
  };

  std::string command_;
  std::array<Boot, 2> boots_;
};

// Writes the lines of `recording`'s notes to a file for the verifier.
void WriteNotes(const Recording& recording, const std::string& path);

}  // namespace powercut
