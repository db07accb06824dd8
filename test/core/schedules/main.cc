// schedule_explorer: see docs/TESTING.md.
//   --set short|long    the set of scenarios (short)
//   --scenario NAME     only this scenario
//   --preemptions N     replaces the scenario's bound; -1: any number
//   --deaths N          replaces the scenario's bound
//   --most-runs N       the limit on the runs of each scenario
//   --broken NAME       publishes-first, skips-reserved, voids-living or joins-unproven: ends at
//                       the first violation
// Exits with 0 if every promise held, 1 if one was broken, 2 on bad arguments.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

#include "trial.h"

namespace durlog::schedules {
namespace {

struct Arguments {
  bool is_long = false;
  std::string scenario;
  std::optional<int> preemptions;
  std::optional<int> deaths;
  uint64_t most_runs = UINT64_MAX;
  Lie lie = Lie::kNone;
};

bool ParseOne(const std::string& name, const std::string& value, Arguments* arguments) {
  if (name == "--set") {
    arguments->is_long = value == "long";
    return value == "long" || value == "short";
  }
  if (name == "--scenario") {
    arguments->scenario = value;
  } else if (name == "--preemptions") {
    arguments->preemptions = std::atoi(value.c_str());
  } else if (name == "--deaths") {
    arguments->deaths = std::atoi(value.c_str());
  } else if (name == "--most-runs") {
    arguments->most_runs = std::strtoull(value.c_str(), nullptr, 10);
  } else if (name == "--broken") {
    if (value == "publishes-first") arguments->lie = Lie::kPublishesFirst;
    if (value == "skips-reserved") arguments->lie = Lie::kSkipsReserved;
    if (value == "voids-living") arguments->lie = Lie::kVoidsLiving;
    if (value == "joins-unproven") arguments->lie = Lie::kJoinsUnproven;
    return arguments->lie != Lie::kNone;
  } else {
    return false;
  }
  return true;
}

// Returns whether every promise held.
bool Try(const Scenario& scenario, const Arguments& arguments) {
  const std::clock_t begin = std::clock();
  const Outcome outcome = TryAll(scenario, arguments.lie, arguments.most_runs);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("%-22s %9llu schedules %9llu states %7llu contents %6.1f s%s\n",
              scenario.name.c_str(), static_cast<unsigned long long>(outcome.runs),
              static_cast<unsigned long long>(outcome.states),
              static_cast<unsigned long long>(outcome.contents), seconds,
              outcome.complete || !outcome.violation.empty() ? "" : " (not all of them)");
  if (outcome.violation.empty()) return true;
  for (const std::string& event : outcome.trail) std::printf("  %s\n", event.c_str());
  std::printf("%s: %s\n", scenario.name.c_str(), outcome.violation.c_str());
  return false;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  bool understood = argc % 2 == 1;
  for (int i = 1; understood && i + 1 < argc; i += 2) {
    understood = ParseOne(argv[i], argv[i + 1], &arguments);
  }
  bool found = false;
  bool right = true;
  for (Scenario& scenario : arguments.is_long ? LongScenarios() : ShortScenarios()) {
    // Only some scenarios contain what the broken member does wrong.
    const bool breaks_sessions = arguments.lie == Lie::kJoinsUnproven;
    const bool shows_lie = arguments.lie == Lie::kNone || breaks_sessions == scenario.after_session;
    if (!understood || !shows_lie ||
        (!arguments.scenario.empty() && arguments.scenario != scenario.name)) {
      continue;
    }
    found = true;
    scenario.limits.preemptions = arguments.preemptions.value_or(scenario.limits.preemptions);
    scenario.limits.deaths = arguments.deaths.value_or(scenario.limits.deaths);
    right = Try(scenario, arguments) && right;
    std::fflush(stdout);
    if (!right && arguments.lie != Lie::kNone) break;
  }
  if (!found) {
    std::fputs("schedule_explorer: bad arguments; main.cc lists them\n", stderr);
    return 2;
  }
  return right ? 0 : 1;
}

}  // namespace
}  // namespace durlog::schedules

int main(int argc, char** argv) { return durlog::schedules::Main(argc, argv); }
