#include "report.h"

#include <cinttypes>
#include <cstdio>
#include <sstream>

namespace durlog::crash {

void Report::Add(const Report& other) {
  tally.Add(other.tally);
  seeds += other.seeds;
  for (size_t s = 0; s < points.size(); ++s) {
    for (size_t p = 0; p < points[s].size(); ++p) points[s][p] += other.points[s][p];
  }
  violations.insert(violations.end(), other.violations.begin(), other.violations.end());
}

void Report::Print(const std::string& switches) const {
  std::printf("crash points    ");
  for (const char* const name : kPreallocationNames) std::printf("%11s", name);
  std::printf("\n");
  for (size_t s = 0; s < points.size(); ++s) {
    std::printf("%-16s", kStrategyNames[s]);
    for (size_t p = 0; p < points[s].size(); ++p) {
      if (IsAllowed(static_cast<Strategy>(s), static_cast<int>(p))) {
        std::printf("%11" PRIu64, points[s][p]);
      } else {
        std::printf("%11s", "-");
      }
    }
    std::printf("\n");
  }
  const auto count = [this](Count which) { return tally[which]; };
  std::printf("\n%" PRIu64 " points from %" PRIu64 " seeds: %" PRIu64 " power cuts, %" PRIu64
              " process deaths; %" PRIu64 " of them during a recovery\n",
              tally.points(), seeds, count(Count::kPowerCuts), count(Count::kProcessDeaths),
              count(Count::kInRecovery));
  std::printf("recoveries: %" PRIu64 " clean, %" PRIu64 " torn-tail, %" PRIu64 " hole\n",
              count(Count::kClean), count(Count::kTornTail), count(Count::kHole));
  std::printf("injected: %" PRIu64 " faults struck, %" PRIu64 " logs latched, %" PRIu64
              " appends refused for want of room\n",
              count(Count::kFaults), count(Count::kLatched), count(Count::kNoSpace));
  std::printf("violations: %zu\n", violations.size());
  for (const Violation& violation : violations) {
    std::printf("  seed %" PRIu64 ", after %" PRIu64
                " points: %s\n    replay with: --replay %" PRIu64 "%s\n",
                violation.seed, violation.points_before, violation.what.c_str(), violation.seed,
                switches.c_str());
  }
}

std::string Report::Serialize() const {
  std::ostringstream out;
  for (const uint64_t number : tally.counts) out << number << ' ';
  out << seeds << ' ';
  for (const auto& row : points) {
    for (const uint64_t number : row) out << number << ' ';
  }
  out << '\n';
  for (const Violation& violation : violations) {
    out << violation.seed << ' ' << violation.points_before << ' ' << violation.what << '\n';
  }
  return out.str();
}

Report Report::Parse(const std::string& text) {
  Report report;
  std::istringstream in(text);
  for (uint64_t& number : report.tally.counts) in >> number;
  in >> report.seeds;
  for (auto& row : report.points) {
    for (uint64_t& number : row) in >> number;
  }
  Violation violation;
  while (in >> violation.seed >> violation.points_before) {
    std::getline(in >> std::ws, violation.what);
    report.violations.push_back(violation);
  }
  return report;
}

}  // namespace durlog::crash
