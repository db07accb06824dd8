// The explorer's report: the number of trials of each kind, and the violations.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "explorer.h"
#include "scenario.h"

namespace durlog::crash {

struct Violation {
  uint64_t seed = 0;
  uint64_t points_before = 0;  // crash points that the same worker tried before it
  std::string what;
};

struct Report {
  Tally tally;
  uint64_t seeds = 0;
  std::array<std::array<uint64_t, kPreallocationCount>, kStrategyCount> points{};
  std::vector<Violation> violations;

  void Add(const Report& other);
  void Print(const std::string& switches) const;

  // The text form that is sent through a pipe.
  std::string Serialize() const;
  static Report Parse(const std::string& text);
};

}  // namespace durlog::crash
