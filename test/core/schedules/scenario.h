// The work of the members of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "turns.h"

namespace durlog::schedules {

// A member's work is a string with one letter for each step: w writes a record, f writes a record
// of which two fill a segment, b writes a batch of two, s appends a record at `sync`, a appends one
// at `async`, t trims all that may be trimmed, j joins, l leaves. o opens the log alone, x then
// truncates it, r rotates it, and c closes it; a process that is refused does nothing more. Members
// that begin with neither j nor o have joined before the first turn.
struct Scenario {
  std::string name;
  std::vector<std::string> members;
  // The free bytes in the segment before the first turn; a record takes 32. 0: the segment is empty
  // and there is no spare.
  uint64_t room_bytes = 0;
  // The log was shared before the first turn, and its page names a session whose members are dead.
  bool after_session = false;
  // Each step but opening and closing is one turn, unless it waits.
  bool stops_in_open_only = false;
  bool without_spare = false;  // the next segment's file does not exist yet
  Limits limits;
};

// The scenarios of every test run; they take some seconds.
std::vector<Scenario> ShortScenarios();
// These take minutes.
std::vector<Scenario> LongScenarios();

}  // namespace durlog::schedules
