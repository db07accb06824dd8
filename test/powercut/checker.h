// Tries all cuts of a recording: rebuilds and mounts each disk, and has the verifier check it. In a
// sample of the disks it also makes second cuts among the writes of the verifier's recovery.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cut.h"
#include "file_systems.h"
#include "mounts.h"
#include "rebuilt_disk.h"
#include "verifier.h"

namespace powercut {

struct CheckOptions {
  std::string verifier;  // a command; README.md describes its questions and answers
  std::string seed;      // passed to the verifier, as it was to the workload
  uint64_t plan_seed;
  uint64_t at_flush_limit;
  uint64_t between_count;
  uint64_t again_count;       // approximate number of second cuts
  uint64_t violations_limit;  // stops after this many violations
  std::string keep;           // folder for the recordings of failing cuts
};

struct Tally {
  uint64_t at_flush = 0;
  uint64_t torn_512 = 0;
  uint64_t torn_4096 = 0;
  uint64_t again = 0;
  uint64_t file_system_torn = 0;  // torn at 512 B and made again: see Checker::Verify()
  std::map<std::string, uint64_t> recoveries;  // by the verifier's word: the number of first cuts
  uint64_t disks() const { return at_flush + torn_512 + torn_4096 + again; }
};

struct Violation {
  std::string text;
  Cut cut;
  std::string again_file;  // "" unless a second cut failed and its recording was kept
  std::string again_cut;   // "" unless a second cut failed
  uint64_t disks_before;
};

// A disk: a cut of the recording and, unless `again` is null, a second cut among the writes that
// the verifier made to the disk of the first cut.
struct Cuts {
  Cut first;
  const Recording* again;
  Cut second;
};

class Checker {
 public:
  Checker(const Recording& recording, CheckOptions options);

  void Run();
  // Checks one disk. If `image_path` is not empty, the disk is saved there before it is mounted.
  Verifier::Answer Replay(const Cuts& cuts, const std::string& image_path);

  const Tally& tally() const { return tally_; }
  const std::vector<Violation>& violations() const { return violations_; }

 private:
  void Build(const Cuts& cuts);
  std::string TryMount(std::optional<Mount>* mount);
  Verifier::Answer Verify(Cuts* cuts);
  Verifier::Answer VerifyMounted(Mount* mount, const Cuts& cuts);
  bool WorthCuttingAgain(const std::string& recovery, double progress);
  void CheckAgain(const Cut& cut, const Recording& again, uint64_t seed);
  void Count(const Cuts& cuts);
  void Report(std::string text, const Cuts& cuts);
  bool Enough() const { return violations_.size() >= options_.violations_limit; }

  const Recording& recording_;
  const CheckOptions options_;
  const FileSystem& file_system_;
  RebuiltDisk disk_;
  ScratchDirectory scratch_;
  Verifier verifier_;
  Tally tally_;
  std::vector<Violation> violations_;
  std::map<std::string, uint64_t> again_by_recovery_;
  // The verifier's operations on the last verified disk: (mounted, answered].
  uint64_t verify_begin_ = 0;
  uint64_t verify_end_ = 0;
};

}  // namespace powercut
