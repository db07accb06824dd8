#include "log/write_policy.h"

#include <gtest/gtest.h>

#include <string>

namespace durlog {
namespace {

struct Case {
  const char* name;
  WriteMode starts;
  const char* cycle;  // m: a record in memory, a: at async, s: a commit at sync
  int cycles;
  WriteMode ends;
  int changes;  // of the mode, on the way
};

constexpr WriteMode kMapped = WriteMode::kMapped;
constexpr WriteMode kDirect = WriteMode::kDirect;

constexpr Case kCases[] = {
    {"SyncedAppendsStayDirect", kDirect, "s", 1000, kDirect, 0},
    {"AStrayWriteChangesNothing", kDirect, "ssssssssssssssssssssm", 1000, kDirect, 0},
    {"AWriteForEachSyncStaysDirect", kDirect, "ms", 1000, kDirect, 0},
    {"AFewWritesAtOnceStayDirect", kDirect, "mmmmmmmmssssssss", 1000, kDirect, 0},
    {"WritesAloneGoToTheMap", kDirect, "m", 32, kMapped, 1},
    {"OneWriteLessDoesNot", kDirect, "m", 31, kDirect, 0},
    {"AppendsAtAsyncGoThereToo", kDirect, "a", 32, kMapped, 1},
    {"MostlyWritesGoToTheMapAndStay", kDirect, "mmmms", 1000, kMapped, 1},
    {"AMapIsKeptForAStraySync", kMapped, "mmmmmmmmmmmms", 1000, kMapped, 0},
    {"AMapIsNotLeftForAFewSyncs", kMapped, "s", 15, kMapped, 0},
    {"SyncsAloneLeaveTheMap", kMapped, "s", 16, kDirect, 1},
    {"MostlySyncsLeaveTheMapAndStayAway", kMapped, "ssssssssssssssssssssm", 1000, kDirect, 1},
    {"LongPhasesOfEachChangeOnceForEach", kDirect,
     "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmssssssssssssssss", 10, kDirect, 20},
};

class WritePolicyTest : public testing::TestWithParam<Case> {};

std::string NameOfCase(const testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Table, WritePolicyTest, testing::ValuesIn(kCases), NameOfCase);

TEST_P(WritePolicyTest, TheModeFollowsWhatIsAskedFor) {
  const Case& given = GetParam();
  WritePolicy policy(given.starts, LogOptions().map_after_records);
  WriteMode mode = given.starts;
  int changes = 0;
  const auto change_to = [&](WriteMode next) {
    mode = next;
    ++changes;
  };
  for (int i = 0; i < given.cycles; ++i) {
    for (const char event : std::string(given.cycle)) {
      if (event == 's') {
        policy.NoteCommit(Level::kSync);
        if (mode == kMapped && policy.WantsDirect()) change_to(kDirect);
      } else {
        policy.NoteRecords(event == 'm' ? Level::kMemory : Level::kAsync, 1);
        // The record that a direct log writes to the device all the same.
        policy.NoteCommit(event == 'm' ? Level::kMemory : Level::kAsync);
        if (mode == kDirect && policy.WantsMap()) change_to(kMapped);
      }
    }
  }
  EXPECT_EQ(mode, given.ends);
  EXPECT_EQ(changes, given.changes);
}

}  // namespace
}  // namespace durlog
