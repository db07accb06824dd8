// The work of the members of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "turns.h"

namespace durlog::schedules {

// A member's work is a string with one letter for each step: w writes a record, f writes a record
// of which two fill a segment, b writes a batch of two, s appends a record at `sync`, a appends one
// at `async`, t trims all that may be trimmed, j joins (members without it have joined before the
// first turn), l leaves.
struct Scenario {
  std::string name;
  std::vector<std::string> members;
  // The free bytes in the segment before the first turn; a record takes 32. 0: the segment is empty
  // and there is no spare.
  uint64_t room_bytes = 0;
  bool without_spare = false;  // the next segment's file does not exist yet
  Limits limits;
};

// The scenarios of every test run; they take some seconds.
std::vector<Scenario> ShortScenarios();
// These take minutes.
std::vector<Scenario> LongScenarios();

}  // namespace durlog::schedules
