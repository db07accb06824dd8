// The work of the members of a run.
#ifndef DURLOG_TEST_CORE_SCHEDULES_SCENARIO_H_
#define DURLOG_TEST_CORE_SCHEDULES_SCENARIO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "turns.h"

namespace durlog::schedules {

// A member's work is a word: w writes a record, f one of which two fill a segment, b a batch of
// two, s appends one at `sync` and a at `async`, t trims all that may go, j joins (the others have
// joined before the first turn), l leaves.
struct Scenario {
  std::string name;
  std::vector<std::string> members;
  // Behind what is in the segment before the first turn; a record takes 32. 0: all of an empty one,
  // and no spare has been made.
  uint64_t room_bytes = 0;
  bool without_spare = false;  // the next segment's file has to be made first
  Limits limits;
};

// Those of every run of the tests: some seconds.
std::vector<Scenario> ShortScenarios();
// Minutes.
std::vector<Scenario> LongScenarios();

}  // namespace durlog::schedules

#endif  // DURLOG_TEST_CORE_SCHEDULES_SCENARIO_H_
