// Every schedule of a scenario, each judged by what is in the files at its end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenario.h"
#include "turns.h"

namespace durlog::schedules {

struct Outcome {
  uint64_t runs = 0;
  uint64_t states = 0;
  uint64_t contents = 0;  // of the files, each of them judged
  std::string violation;  // "" for none
  std::vector<std::string> trail;
  bool complete = false;  // every schedule within the limits has been tried
};

// Ends at the first violation, or after `most_runs`.
Outcome TryAll(const Scenario& scenario, Lie lie, uint64_t most_runs);

}  // namespace durlog::schedules
