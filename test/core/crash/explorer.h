// The state that all sessions of one seed share: the counts, the first violation, the switches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace durlog::crash {

enum class Count : uint8_t {
  kPowerCuts,
  kProcessDeaths,
  kInRecovery,  // those of both kinds that hit an open during recovery
  kClean,       // the state that recovery found
  kTornTail,
  kHole,
  kFaults,  // faults that struck
  kLatched,
  kNoSpace,  // appends refused because the disk was full
};
inline constexpr size_t kCountKinds = 9;

// A crash point is one state of the disk after a crash, which is opened and checked.
struct Tally {
  std::array<uint64_t, kCountKinds> counts{};

  uint64_t& operator[](Count count) { return counts[static_cast<size_t>(count)]; }
  uint64_t operator[](Count count) const { return counts[static_cast<size_t>(count)]; }
  uint64_t points() const { return (*this)[Count::kPowerCuts] + (*this)[Count::kProcessDeaths]; }
  void Add(const Tally& other) {
    for (size_t i = 0; i < kCountKinds; ++i) counts[i] += other.counts[i];
  }
};

class Explorer {
 public:
  explicit Explorer(bool tracing) : tracing_(tracing) {}

  Tally tally;

  bool tracing() const { return tracing_; }
  bool failed() const { return !violation_.empty(); }
  const std::string& violation() const { return violation_; }
  const std::vector<std::string>& trail() const { return trail_; }

  // Keeps the first violation. `trail` lists the events that led to it.
  void Fail(const std::string& violation, std::vector<std::string> trail) {
    if (failed()) return;
    violation_ = violation;
    trail_ = std::move(trail);
  }

 private:
  const bool tracing_;
  std::string violation_;
  std::vector<std::string> trail_;
};

}  // namespace durlog::crash
