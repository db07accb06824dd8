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

constexpr WriteMode kMapped = WriteMode::kMmap;
constexpr WriteMode kDirect = WriteMode::kDirect;

constexpr Case kCases[] = {
    {"SyncedAppendsStayDirect", kDirect, "s", 1000, kDirect, 0},
    {"AStrayWriteChangesNothing", kDirect, "ssssssssssssssssssssm", 1000, kDirect, 0},
    {"TheFirstWriteGoesToTheMap", kDirect, "m", 1, kMapped, 1},
    {"TheFirstAppendAtAsyncGoesThereToo", kDirect, "a", 1, kMapped, 1},
    {"AWriteForEachSyncLeavesTheMapForGood", kDirect, "ms", 1000, kDirect, 2},
    {"AFewWritesAtOnceLeaveTheMapForGood", kDirect, "mmmmmmmmssssssss", 1000, kDirect, 2},
    {"After16SyncsTheMapNeeds32Writes", kDirect, "ssssssssssssssssmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm",
     1, kMapped, 1},
    {"OneWriteLessDoesNot", kDirect, "ssssssssssssssssmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm", 1, kDirect,
     0},
    {"MostlyWritesGoToTheMapAndStay", kDirect, "mmmms", 1000, kMapped, 1},
    {"AMapIsKeptForAStraySync", kMapped, "mmmmmmmmmmmms", 1000, kMapped, 0},
    {"AMapIsNotLeftForAFewSyncs", kMapped, "s", 15, kMapped, 0},
    {"SyncsAloneLeaveTheMap", kMapped, "s", 16, kDirect, 1},
    {"MostlySyncsLeaveTheMapAndStayAway", kMapped, "ssssssssssssssssssssm", 1000, kDirect, 1},
    {"LongPhasesOfEachChangeOnceForEach", kDirect,
     "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmssssssssssssssss", 10, kDirect, 20},
};

Capabilities InPlace() {
  Capabilities capabilities;
  capabilities.file_system = "ext4";
  capabilities.overwrites_in_place = true;
  capabilities.survives_map_faults = true;
  capabilities.direct_io = true;
  return capabilities;
}

WritePolicy PolicyStartingIn(WriteMode mode) {
  LogOptions options;
  options.expected_level = mode == kMapped ? Level::kMemory : Level::kSync;
  return WritePolicy(options, InPlace());
}

class WriteModeTest : public testing::TestWithParam<Case> {};

std::string NameOfCase(const testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Table, WriteModeTest, testing::ValuesIn(kCases), NameOfCase);

TEST_P(WriteModeTest, TheModeFollowsWhatIsAskedFor) {
  const Case& given = GetParam();
  WritePolicy policy = PolicyStartingIn(given.starts);
  ASSERT_EQ(policy.first_mode(), given.starts);
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
        if (mode == kMapped && policy.LeavesMap()) change_to(kDirect);
      } else {
        policy.NoteRecords(event == 'm' ? Level::kMemory : Level::kAsync, 1);
        // A direct log writes this record to the device anyway.
        policy.NoteCommit(event == 'm' ? Level::kMemory : Level::kAsync);
        if (mode == kDirect && policy.EntersMap()) change_to(kMapped);
      }
    }
  }
  EXPECT_EQ(mode, given.ends);
  EXPECT_EQ(changes, given.changes);
}

// The decision for one combination of options and file system.
struct Decisions {
  const char* name;
  Strategy strategy;
  Level expected_level;
  const char* lacks;  // m: survives_map_faults, o: overwrites_in_place, d: direct_io
  WriteMode first_mode;
  bool enters_map;  // after many records in memory
  bool leaves_map;  // after many synced commits
  Populating populating;
};

constexpr Strategy kAuto = Strategy::kAuto;
constexpr WriteMode kPwrite = WriteMode::kPwrite;
constexpr Populating kZeros = Populating::kWriteZeros;
constexpr Populating kTouch = Populating::kTouch;

constexpr Decisions kDecisions[] = {
    {"AutoForSync", kAuto, Level::kSync, "", kDirect, true, true, kZeros},
    {"AutoForFull", kAuto, Level::kFull, "", kDirect, true, true, kZeros},
    {"AutoForMemory", kAuto, Level::kMemory, "", kMapped, true, true, kZeros},
    {"AutoForAsync", kAuto, Level::kAsync, "", kMapped, true, true, kZeros},
    {"AutoWithoutDirect", kAuto, Level::kSync, "d", kMapped, true, false, kZeros},
    {"AutoNotInPlace", kAuto, Level::kMemory, "o", kPwrite, false, true, kZeros},
    {"AutoWhereAFaultKills", kAuto, Level::kMemory, "m", kPwrite, false, true, kZeros},
    {"Mmap", Strategy::kMmap, Level::kSync, "", kMapped, false, false, kTouch},
    {"MmapNotInPlace", Strategy::kMmap, Level::kSync, "o", kPwrite, false, false, kTouch},
    {"MmapWhereAFaultKills", Strategy::kMmap, Level::kSync, "m", kPwrite, false, false, kTouch},
    {"Pwrite", Strategy::kPwrite, Level::kMemory, "", kPwrite, false, false, kTouch},
    {"Direct", Strategy::kDirect, Level::kMemory, "", kDirect, false, false, kTouch},
    {"DirectRefused", Strategy::kDirect, Level::kSync, "d", kPwrite, false, false, kTouch},
};

class WriteDecisionsTest : public testing::TestWithParam<Decisions> {};

INSTANTIATE_TEST_SUITE_P(Table, WriteDecisionsTest, testing::ValuesIn(kDecisions),
                         [](const auto& test) { return test.param.name; });

TEST_P(WriteDecisionsTest, TheModeIsWhatTheFileSystemAllows) {
  const Decisions& given = GetParam();
  const std::string lacks = given.lacks;
  Capabilities capabilities = InPlace();
  capabilities.survives_map_faults = lacks != "m";
  capabilities.overwrites_in_place = lacks != "o";
  capabilities.direct_io = lacks != "d";
  LogOptions options;
  options.strategy = given.strategy;
  options.expected_level = given.expected_level;
  WritePolicy policy(options, capabilities);
  EXPECT_EQ(policy.first_mode(), given.first_mode);
  EXPECT_NE(policy.reason(), "");
  policy.NoteRecords(Level::kMemory, 1000);
  EXPECT_EQ(policy.EntersMap(), given.enters_map);
  EXPECT_FALSE(policy.LeavesMap());
  for (int i = 0; i < 1000; ++i) policy.NoteCommit(Level::kSync);
  EXPECT_FALSE(policy.EntersMap());
  EXPECT_EQ(policy.LeavesMap(), given.leaves_map);
  EXPECT_EQ(policy.PopulatesWith(false), given.populating);
  EXPECT_EQ(policy.PopulatesWith(true), kTouch);
}

TEST(WritePolicyTest, ARefusedMapIsFinal) {
  WritePolicy policy = PolicyStartingIn(kMapped);
  ASSERT_TRUE(policy.EntersMap());
  policy.RefuseMap();
  policy.NoteRecords(Level::kMemory, 1000);
  EXPECT_FALSE(policy.EntersMap());
}

TEST(WritePolicyTest, MapsNeedTheNextSegmentEarlier) {
  const WritePolicy policy = PolicyStartingIn(kDirect);
  EXPECT_EQ(policy.SpareDueAt(kMapped, 64 << 20), 8u << 20);
  EXPECT_EQ(policy.SpareDueAt(kDirect, 64 << 20), 16u << 20);
  EXPECT_EQ(policy.SpareDueAt(kPwrite, 64 << 20), 32u << 20);
}

struct SpareDecisions {
  const char* name;
  bool asks;  // for `asked`; otherwise `auto`
  Preallocation asked;
  bool in_place;
  Preallocation spare;
  bool zeros_ahead;  // of a commit at sync
  bool recycles_direct;
  bool recycles_mapped;
};

constexpr Preallocation kNone = Preallocation::kNone;
constexpr Preallocation kFallocate = Preallocation::kFallocate;
constexpr Preallocation kZero = Preallocation::kZero;

constexpr SpareDecisions kSpareDecisions[] = {
    {"Auto", false, kNone, true, kFallocate, true, true, true},
    {"AutoNotInPlace", false, kNone, false, kNone, false, false, false},
    {"None", true, kNone, true, kNone, false, false, false},
    {"Fallocate", true, kFallocate, true, kFallocate, false, false, false},
    {"Zero", true, kZero, true, kZero, false, false, false},
    {"ZeroNotInPlace", true, kZero, false, kZero, false, false, false},
};

class SpareDecisionsTest : public testing::TestWithParam<SpareDecisions> {};

INSTANTIATE_TEST_SUITE_P(Table, SpareDecisionsTest, testing::ValuesIn(kSpareDecisions),
                         [](const auto& test) { return test.param.name; });

TEST_P(SpareDecisionsTest, BlocksAreMadeReadyWhereThatHelps) {
  const SpareDecisions& given = GetParam();
  Capabilities capabilities = InPlace();
  capabilities.overwrites_in_place = given.in_place;
  LogOptions options;
  options.preallocation_auto = !given.asks;
  options.preallocation = given.asked;
  const WritePolicy policy(options, capabilities);
  EXPECT_EQ(policy.SparePreallocation(), given.spare);
  EXPECT_EQ(policy.ZerosAhead(Level::kSync), given.zeros_ahead);
  EXPECT_EQ(policy.ZerosAhead(Level::kFull), given.zeros_ahead);
  EXPECT_FALSE(policy.ZerosAhead(Level::kAsync));
  EXPECT_EQ(policy.Recycles(kDirect), given.recycles_direct);
  EXPECT_EQ(policy.Recycles(kMapped), given.recycles_mapped);
}

}  // namespace
}  // namespace durlog
