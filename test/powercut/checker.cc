#include "checker.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <random>
#include <system_error>

#include "unix.h"

namespace powercut {
namespace {

// Second cuts are made in a sample of the disks; this is their number in each sampled disk.
constexpr uint64_t kAgainPerDisk = 6;

}  // namespace

Checker::Checker(const Recording& recording, CheckOptions options)
    : recording_(recording),
      options_(std::move(options)),
      file_system_(FileSystemNamed(recording.file_system)),
      disk_(recording),
      verifier_(options_.verifier, disk_.notes_path(), scratch_.path(), options_.seed) {
  WriteNotes(recording, scratch_.path() + "/recorded");
}

void Checker::Run() {
  const std::vector<Cut> cuts =
      PlanCuts(recording_, {options_.at_flush_limit, options_.between_count,
                            file_system_.sectors_bytes, options_.plan_seed});
  std::mt19937_64 random(options_.plan_seed);
  for (size_t i = 0; i < cuts.size(); ++i) {
    ThrowIfStopped();
    if (Enough()) return;
    Cuts made = {cuts[i], nullptr, {}};
    const Verifier::Answer answer = Verify(&made);
    Count(made);
    if (!answer.ok) {
      Report(answer.text, made);
      continue;
    }
    ++tally_.recoveries[answer.text];
    if (WorthCuttingAgain(answer.text,
                          static_cast<double>(i + 1) / static_cast<double>(cuts.size()))) {
      again_by_recovery_[answer.text] += kAgainPerDisk;
      const Recording again =
          Recording::Of(disk_.disk(), recording_.file_system, verify_begin_, verify_end_);
      CheckAgain(made.first, again, random());
    }
  }
}

// Second cuts are divided evenly among the kinds of recovery: most disks are found clean, and only
// the recovery of the others writes changes that a second cut can undo.
bool Checker::WorthCuttingAgain(const std::string& recovery, double progress) {
  const double share = static_cast<double>(options_.again_count) * progress /
                       static_cast<double>(tally_.recoveries.size());
  return static_cast<double>(again_by_recovery_[recovery] + kAgainPerDisk) <= share;
}

void Checker::CheckAgain(const Cut& cut, const Recording& again, uint64_t seed) {
  const std::vector<Cut> again_cuts =
      PlanCuts(again, {kAgainPerDisk / 2, kAgainPerDisk / 2, file_system_.sectors_bytes, seed});
  for (const Cut& again_cut : again_cuts) {
    ThrowIfStopped();
    if (Enough()) return;
    Cuts made = {cut, &again, again_cut};
    const Verifier::Answer answer = Verify(&made);
    Count(made);
    if (!answer.ok) Report(answer.text, made);
  }
}

Verifier::Answer Checker::Replay(const Cuts& cuts, const std::string& image_path) {
  Build(cuts);
  if (!image_path.empty()) disk_.SaveImage(image_path);
  std::optional<Mount> mount;
  const std::string lost = TryMount(&mount);
  return lost.empty() ? VerifyMounted(&*mount, cuts) : Verifier::Answer{false, lost};
}

void Checker::Build(const Cuts& cuts) {
  if (cuts.again != nullptr) {
    disk_.BuildAgain(cuts.first, *cuts.again, cuts.second);
  } else {
    disk_.Build(cuts.first);
  }
}

// Returns "", or why the file system of the rebuilt disk cannot be mounted.
std::string Checker::TryMount(std::optional<Mount>* mount) {
  try {
    mount->emplace(disk_.device(), disk_.directory(), recording_.file_system);
    return "";
  } catch (const std::system_error& error) {
    return std::string("the file system is lost: ") + error.what();
  }
}

// When it replays its journal, XFS takes the LSN in a metadata block's first sector for the age of
// the whole block (xlog_recover_get_buf_lsn). A block that is torn within its 4 KiB can look newer
// than the journal; it then stays torn, and the mount fails with EBADMSG. Such a disk is no test of
// a log: the same cut is made again on a medium that tears between 4 KiB sectors, and counted.
Verifier::Answer Checker::Verify(Cuts* cuts) {
  Cut& last = cuts->again != nullptr ? cuts->second : cuts->first;
  std::optional<Mount> mount;
  Build(*cuts);
  std::string lost = TryMount(&mount);
  if (!lost.empty() && last.sector_bytes == 512) {
    ++tally_.file_system_torn;
    last.sector_bytes = 4096;
    Build(*cuts);
    lost = TryMount(&mount);
  }
  return lost.empty() ? VerifyMounted(&*mount, *cuts) : Verifier::Answer{false, lost};
}

// Asks the verifier and unmounts.
Verifier::Answer Checker::VerifyMounted(Mount* mount, const Cuts& cuts) {
  Verifier::Question question = {
      disk_.directory(), recording_.NotesAt(cuts.first.index), {}, cuts.again != nullptr};
  if (cuts.again != nullptr) {
    const uint64_t count = cuts.again->NotesAt(cuts.second.index);
    for (uint64_t i = 0; i < count; ++i) {
      question.again_notes.push_back(cuts.again->notes[i].line);
    }
  }
  verify_begin_ = disk_.disk().op_count();
  Verifier::Answer answer = verifier_.Ask(question);
  verify_end_ = disk_.disk().op_count();
  try {
    mount->Unmount();
  } catch (const std::system_error&) {
    verifier_.Kill();
    mount->Unmount();
    if (answer.ok) answer = {false, "the verifier still holds files after its answer"};
  }
  if (disk_.disk().overflowed()) throw std::runtime_error("the log of the disk is full");
  return answer;
}

void Checker::Count(const Cuts& cuts) {
  if (cuts.again != nullptr) {
    ++tally_.again;
  } else if (cuts.first.sector_bytes == 0) {
    ++tally_.at_flush;
  } else {
    ++(cuts.first.sector_bytes == 512 ? tally_.torn_512 : tally_.torn_4096);
  }
}

void Checker::Report(std::string text, const Cuts& cuts) {
  Violation violation = {std::move(text), cuts.first, "", "", tally_.disks()};
  if (cuts.again != nullptr) violation.again_cut = cuts.second.ToString();
  if (!options_.keep.empty()) {
    if (violations_.empty()) {
      std::filesystem::create_directories(options_.keep);
      recording_.Save(options_.keep + "/first.recording");
    }
    if (cuts.again != nullptr) {
      violation.again_file =
          options_.keep + "/again-" + std::to_string(violations_.size()) + ".recording";
      cuts.again->Save(violation.again_file);
    }
  }
  violations_.push_back(std::move(violation));
}

}  // namespace powercut
