#include "checker.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <random>
#include <system_error>

#include "unix.h"

namespace powercut {
namespace {

// Second cuts are made in a sample of the disks: so many in each that is taken.
constexpr uint64_t kAgainPerDisk = 6;

}  // namespace

Checker::Checker(const Recording& recording, CheckOptions options)
    : recording_(recording),
      options_(std::move(options)),
      file_system_(FileSystemNamed(recording.file_system)),
      disk_(recording),
      verifier_(options_.verifier, disk_.notes_path(), scratch_.path() + "/recorded",
                options_.seed) {
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
    const Cut& cut = cuts[i];
    disk_.Build(cut);
    const Verifier::Answer answer = VerifyMounted(cut, nullptr, {});
    Count(cut, /*again=*/false);
    if (!answer.ok) {
      Report(answer.text, cut, nullptr, {});
      continue;
    }
    ++tally_.recoveries[answer.text];
    if (WorthCuttingAgain(answer.text,
                          static_cast<double>(i + 1) / static_cast<double>(cuts.size()))) {
      again_by_recovery_[answer.text] += kAgainPerDisk;
      const Recording again =
          Recording::Of(disk_.disk(), recording_.file_system, verify_begin_, verify_end_);
      CheckAgain(cut, again, random());
    }
  }
}

// Second cuts are shared out evenly among the kinds of recovery seen: most disks are found clean,
// and it is after the others that a recovery has work to do which a second cut can undo.
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
    disk_.BuildAgain(cut, again, again_cut);
    const Verifier::Answer answer = VerifyMounted(cut, &again, again_cut);
    Count(again_cut, /*again=*/true);
    if (!answer.ok) Report(answer.text, cut, &again, again_cut);
  }
}

Verifier::Answer Checker::Replay(const Cut& cut, const Recording* again, const Cut& again_cut,
                                 const std::string& image_path) {
  if (again != nullptr) {
    disk_.BuildAgain(cut, *again, again_cut);
  } else {
    disk_.Build(cut);
  }
  if (!image_path.empty()) disk_.SaveImage(image_path);
  return VerifyMounted(cut, again, again_cut);
}

// Mounts the disk that has been built, asks the verifier, unmounts.
Verifier::Answer Checker::VerifyMounted(const Cut& cut, const Recording* again,
                                        const Cut& again_cut) {
  std::optional<Mount> mount;
  try {
    mount.emplace(disk_.device(), disk_.directory(), recording_.file_system);
  } catch (const std::system_error& error) {
    ++tally_.unmountable;
    return {false, std::string("the file system is lost: ") + error.what()};
  }
  Verifier::Question question = {
      disk_.directory(), recording_.NotesAt(cut.index), {}, again != nullptr};
  if (again != nullptr) {
    const uint64_t count = again->NotesAt(again_cut.index);
    for (uint64_t i = 0; i < count; ++i) question.again_notes.push_back(again->notes[i].line);
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

void Checker::Count(const Cut& cut, bool again) {
  if (again) {
    ++tally_.again;
  } else if (cut.sector_bytes == 0) {
    ++tally_.at_flush;
  } else {
    ++(cut.sector_bytes == 512 ? tally_.torn_512 : tally_.torn_4096);
  }
}

void Checker::Report(std::string text, const Cut& cut, const Recording* again,
                     const Cut& again_cut) {
  Violation violation = {std::move(text), cut, "", "", tally_.disks()};
  if (again != nullptr) violation.again_cut = again_cut.ToString();
  if (!options_.keep.empty()) {
    if (violations_.empty()) {
      std::filesystem::create_directories(options_.keep);
      recording_.Save(options_.keep + "/first.recording");
    }
    if (again != nullptr) {
      violation.again_file =
          options_.keep + "/again-" + std::to_string(violations_.size()) + ".recording";
      again->Save(violation.again_file);
    }
  }
  violations_.push_back(std::move(violation));
}

}  // namespace powercut
