#include "write/ack_ledger.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

namespace durlog {
namespace {

constexpr Level kMemory = Level::kMemory;
constexpr Level kAsync = Level::kAsync;
constexpr Level kSync = Level::kSync;
constexpr Level kFull = Level::kFull;

enum class Call { kWant, kReach, kWithdraw, kReset };

struct Step {
  Call call;
  Level level;
  uint64_t end;
};

using Ends = std::array<uint64_t, kLevelCount>;

struct LedgerCase {
  const char* name;
  std::vector<Step> steps;
  Ends reached;  // at memory, async, sync and full
  std::optional<Level> due;
};

Step Want(Level level, uint64_t end) { return Step{Call::kWant, level, end}; }
Step Reach(Level level, uint64_t end) { return Step{Call::kReach, level, end}; }
Step Withdraw(uint64_t end) { return Step{Call::kWithdraw, kMemory, end}; }
Step Reset(uint64_t end) { return Step{Call::kReset, kMemory, end}; }

const LedgerCase kLedgerCases[] = {
    {"NothingIsDueAtFirst", {}, {0, 0, 0, 0}, std::nullopt},
    {"WhatIsWantedIsDue", {Want(kAsync, 1)}, {0, 0, 0, 0}, kAsync},
    {"TheHighestLevelIsDue", {Want(kFull, 2), Want(kMemory, 9)}, {0, 0, 0, 0}, kFull},
    {"ACommitReachesEveryLowerLevel",
     {Want(kSync, 5), Reach(kSync, 5)},
     {5, 5, 5, 0},
     std::nullopt},
    {"ALowerLevelThanWantedIsNotEnough", {Want(kFull, 5), Reach(kSync, 5)}, {5, 5, 5, 0}, kFull},
    {"FewerRecordsThanWantedAreNotEnough", {Want(kSync, 5), Reach(kSync, 4)}, {4, 4, 4, 0}, kSync},
    {"AWishIsNotForgottenForASmallerOne",
     {Want(kSync, 5), Want(kSync, 3), Reach(kSync, 3)},
     {3, 3, 3, 0},
     kSync},
    {"AnEarlierCommitThatEndsLaterTakesNothingBack",
     {Reach(kMemory, 8), Reach(kSync, 5)},
     {8, 5, 5, 0},
     std::nullopt},
    {"WhatWasTakenBackIsNotDue",
     {Want(kSync, 5), Reach(kSync, 5), Want(kFull, 9), Want(kSync, 9), Withdraw(5)},
     {5, 5, 5, 0},
     kFull},
    {"WhatIsGoneAltogetherIsNotDue",
     {Want(kSync, 5), Reach(kFull, 5), Want(kFull, 9), Withdraw(5)},
     {5, 5, 5, 5},
     std::nullopt},
    {"ARecoveredLogIsOnTheDevice", {Reset(7)}, {7, 7, 7, 7}, std::nullopt},
    {"ATruncationLowersEveryEnd",
     {Want(kFull, 9), Reach(kSync, 9), Reset(4)},
     {4, 4, 4, 4},
     std::nullopt},
};

class AckLedgerTest : public testing::TestWithParam<LedgerCase> {};

TEST_P(AckLedgerTest, DecidesWhatIsAcknowledged) {
  AckLedger acks;
  for (const Step& step : GetParam().steps) {
    if (step.call == Call::kWant) acks.Want(step.level, step.end);
    if (step.call == Call::kReach) acks.Reach(step.level, step.end);
    if (step.call == Call::kWithdraw) acks.Withdraw(step.end);
    if (step.call == Call::kReset) acks.Reset(step.end);
  }
  for (size_t i = 0; i < GetParam().reached.size(); ++i) {
    EXPECT_EQ(acks.ReachedEnd(static_cast<Level>(i)), GetParam().reached[i]) << i;
  }
  EXPECT_EQ(acks.memory_end(), GetParam().reached[0]);
  EXPECT_EQ(acks.synced_end(), GetParam().reached[2]);
  EXPECT_EQ(acks.DueLevel(), GetParam().due);
}

INSTANTIATE_TEST_SUITE_P(All, AckLedgerTest, testing::ValuesIn(kLedgerCases),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace durlog
