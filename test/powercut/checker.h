// Takes a recording from cut to cut: rebuilds each disk, mounts it, has the verifier look at it,
// and cuts again what the verifier's own recovery did to a sample of them.
#ifndef DURLOG_TEST_POWERCUT_CHECKER_H_
#define DURLOG_TEST_POWERCUT_CHECKER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cut.h"
#include "file_systems.h"
#include "rebuilt_disk.h"
#include "verifier.h"

namespace powercut {

struct CheckOptions {
  std::string verifier;  // a command; README.md has what it is asked and what it answers
  std::string seed;      // handed to the verifier, as it was to the workload
  uint64_t plan_seed;
  uint64_t at_flush_limit;
  uint64_t between_count;
  uint64_t again_count;       // second cuts, about
  uint64_t violations_limit;  // stop there
  std::string keep;           // folder for the recordings of failing cuts
};

struct Tally {
  uint64_t at_flush = 0;
  uint64_t torn_512 = 0;
  uint64_t torn_4096 = 0;
  uint64_t again = 0;
  uint64_t unmountable = 0;  // the file system itself did not survive; never expected
  std::map<std::string, uint64_t> recoveries;  // how often the verifier named which, first cuts
  uint64_t disks() const { return at_flush + torn_512 + torn_4096 + again; }
};

struct Violation {
  std::string text;
  Cut cut;
  std::string again_file;  // "" unless it was the second cut, and kept
  std::string again_cut;   // "" unless it was the second cut
  uint64_t disks_before;
};

class Checker {
 public:
  Checker(const Recording& recording, CheckOptions options);

  void Run();
  // One cut alone; with `again`, the second cut `again_cut` in it. If `image_path` is not empty,
  // the disk is saved there before it is mounted.
  Verifier::Answer Replay(const Cut& cut, const Recording* again, const Cut& again_cut,
                          const std::string& image_path);

  const Tally& tally() const { return tally_; }
  const std::vector<Violation>& violations() const { return violations_; }

 private:
  Verifier::Answer VerifyMounted(const Cut& cut, const Recording* again, const Cut& again_cut);
  bool WorthCuttingAgain(const std::string& recovery, double progress);
  void CheckAgain(const Cut& cut, const Recording& again, uint64_t seed);
  void Count(const Cut& cut, bool again);
  void Report(std::string text, const Cut& cut, const Recording* again, const Cut& again_cut);
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
  // The verifier's work on the disk that was verified last: (mounted, answered].
  uint64_t verify_begin_ = 0;
  uint64_t verify_end_ = 0;
};

}  // namespace powercut

#endif  // DURLOG_TEST_POWERCUT_CHECKER_H_
