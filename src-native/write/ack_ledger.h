// Tracks which records have reached which level. Only this class decides acknowledgements.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "write/options.h"

namespace durlog {

// An end is exclusive: it covers every record below it. A level has two ends. Callers have
// requested the level for every record below its wanted end. Every record below its reached end has
// the level and may be acknowledged. A record that reaches a level has reached every lower level
// too, so a reached end is never above that of a lower level.
class AckLedger {
 public:
  // Requests `level` for every record below `end`.
  void Want(Level level, uint64_t end) {
    uint64_t& wanted = wanted_[static_cast<size_t>(level)];
    wanted = std::max(wanted, end);
  }

  // Notes that every record below `end` has reached `level`. Call it only once that is true.
  // Commits may finish in another order than they began, so this never lowers an end.
  void Reach(Level level, uint64_t end) {
    for (size_t i = static_cast<size_t>(level) + 1; i-- > 0 && reached_[i] < end;) {
      reached_[i] = end;
    }
  }

  // Notes that the records from `end` on were rolled back. None of them had reached any level.
  void Withdraw(uint64_t end) {
    for (uint64_t& wanted : wanted_) wanted = std::min(wanted, end);
  }

  // Notes that no caller waits for a level any more that it has not reached.
  void Forgo() {
    for (size_t i = 0; i < kLevelCount; ++i) wanted_[i] = std::min(wanted_[i], reached_[i]);
  }

  // Notes that the log holds exactly the records below `end`, all of them on the device. Called
  // after a recovery, and after a truncation, which may remove acknowledged records.
  void Reset(uint64_t end) {
    wanted_.fill(end);
    reached_.fill(end);
  }

  uint64_t WantedEnd(Level level) const { return wanted_[static_cast<size_t>(level)]; }
  uint64_t ReachedEnd(Level level) const { return reached_[static_cast<size_t>(level)]; }
  uint64_t memory_end() const { return ReachedEnd(Level::kMemory); }
  uint64_t synced_end() const { return ReachedEnd(Level::kSync); }

  // Whether a record is wanted at `level` and has not reached it.
  bool IsDue(Level level) const { return WantedEnd(level) > ReachedEnd(level); }
  // The level of the next commit: the highest level that a record is wanted at and has not reached.
  // Nothing if every record has reached its level.
  std::optional<Level> DueLevel() const {
    for (size_t i = kLevelCount; i-- > 0;) {
      if (wanted_[i] > reached_[i]) return static_cast<Level>(i);
    }
    return std::nullopt;
  }

 private:
  std::array<uint64_t, kLevelCount> wanted_{};
  std::array<uint64_t, kLevelCount> reached_{};
};

}  // namespace durlog
