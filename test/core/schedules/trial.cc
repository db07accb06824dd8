#include "trial.h"

#include <memory>
#include <utility>

#include "arena.h"
#include "judge.h"
#include "read/position_index.h"
#include "stage.h"

namespace durlog::schedules {
namespace {

class Trial {
 public:
  Trial(const Scenario& scenario, Lie lie) : scenario_(scenario), lie_(lie) {
    WarmUp();
    const AllocatesIn in_arena(AllocatesIn::kArena);
    Arena::Clear();
    files_ = new ModelFiles;
    stage_ = new Stage(scenario_, *files_);
    stage_->SetUp();
    Arena::Keep();
  }

  Outcome TryAll(uint64_t most_runs);

 private:
  void TryWithin(const Limits& limits, uint64_t most_runs, Outcome* outcome);
  void WarmUp();
  RunEnd RunOnce(const Limits& limits, std::vector<std::string>* trail);
  std::string JudgeEnd(RunEnd end);
  std::string JudgeContent(uint64_t content);

  const Scenario& scenario_;
  const Lie lie_;
  ModelFiles* files_ = nullptr;
  Stage* stage_ = nullptr;
  Search search_;
  Accesses known_;
  Accesses met_;
  StateSet judged_;
  bool met_new_touches_ = false;
  uint64_t content_ = 0;  // at the end of the last run
  std::string wrong_;
};

// Objects that the core makes once in a process must not be in the arena.
void Trial::WarmUp() {
  Scenario scenario;
  scenario.members = {"wbslosc"};
  ModelFiles files;
  Stage stage(scenario, files);
  stage.SetUp();
  stage.Work(0);
  const std::string wrong = Judge(files, stage);
  static_cast<void>(wrong);
}

RunEnd Trial::RunOnce(const Limits& limits, std::vector<std::string>* trail) {
  // Its positions are in the arena.
  PositionIndex::Shared().Clear();
  Arena::Restore();
  Turns turns(&search_, files_, known_, &met_, limits, lie_);
  turns.set_trace(trail);
  for (size_t member = 0; member < scenario_.members.size(); ++member) {
    Stage* const stage = stage_;
    turns.Add([stage, member] { stage->Work(member); });
  }
  wrong_.clear();
  turns.set_check([this, &turns] {
    wrong_ = JudgeContent(turns.Content());
    return wrong_.empty();
  });
  const RunEnd end = turns.Run();
  met_new_touches_ = turns.met_new_touches();
  content_ = turns.Content();
  return end;
}

// As if every member died at this moment.
std::string Trial::JudgeContent(uint64_t content) {
  if (!judged_.Insert(content)) return "";
  const std::unique_ptr<ModelFiles> copy = files_->Copy();
  return Judge(*copy, *stage_);
}

std::string Trial::JudgeEnd(RunEnd end) {
  if (end == RunEnd::kWrong) return wrong_;
  if (end == RunEnd::kStuck) return "a run does not end: every member waits";
  if (end == RunEnd::kTooLong) return "a run does not end";
  if (!stage_->violation().empty()) return std::string(stage_->violation().c_str());
  return end == RunEnd::kDone ? JudgeContent(content_) : "";
}

// Tries the schedules again if some of them may have omitted a turn.
void Trial::TryWithin(const Limits& limits, uint64_t most_runs, Outcome* outcome) {
  search_.StartAnew();
  bool is_anew = false;
  for (uint64_t runs_before = outcome->runs; outcome->runs < most_runs;) {
    if (!search_.BeginRun()) {
      outcome->complete = !std::exchange(is_anew, false);
      if (outcome->complete) return;
      runs_before = outcome->runs;
      search_.StartAnew();
      known_ = met_;
      continue;
    }
    const RunEnd end = RunOnce(limits, nullptr);
    outcome->runs = runs_before + search_.runs();
    outcome->violation = JudgeEnd(end);
    if (!outcome->violation.empty()) {
      search_.Repeat();
      search_.BeginRun();
      RunOnce(limits, &outcome->trail);
      return;
    }
    is_anew = is_anew || met_new_touches_;
  }
}

// The few schedules with one switch meet most conflicts between members, so that all schedules are
// rarely tried twice.
Outcome Trial::TryAll(uint64_t most_runs) {
  Outcome outcome;
  Limits few = scenario_.limits;
  few.preemptions = 1;
  TryWithin(few, most_runs, &outcome);
  if (outcome.violation.empty() && scenario_.limits.preemptions != 1) {
    outcome.complete = false;
    TryWithin(scenario_.limits, most_runs, &outcome);
  }
  outcome.states = search_.states();
  outcome.contents = judged_.size();
  return outcome;
}

}  // namespace

Outcome TryAll(const Scenario& scenario, Lie lie, uint64_t most_runs) {
  Trial trial(scenario, lie);
  return trial.TryAll(most_runs);
}

}  // namespace durlog::schedules
