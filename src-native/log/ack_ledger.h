// Which records have reached which level: the one place where an acknowledgement is decided.
#ifndef DURLOG_LOG_ACK_LEDGER_H_
#define DURLOG_LOG_ACK_LEDGER_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "log/options.h"

namespace durlog {

// An end is exclusive: it stands for every record below it. The wanted end of a level is what
// callers have asked for, its reached end what has come true, and so what may be acknowledged. What
// has reached a level has reached every lower one: the reached ends never rise with the level.
class AckLedger {
 public:
  // Asks that every record below `end` reach `level`.
  void Want(Level level, uint64_t end) {
    uint64_t& wanted = wanted_[static_cast<size_t>(level)];
    wanted = std::max(wanted, end);
  }

  // Every record below `end` has reached `level`. To be called after that has come true. Commits
  // may finish in another order than they began: an end never goes back here.
  void Reach(Level level, uint64_t end) {
    for (size_t i = 0; i <= static_cast<size_t>(level); ++i)
      reached_[i] = std::max(reached_[i], end);
  }

  // The records from `end` on, none of which had reached any level, were taken back.
  void Withdraw(uint64_t end) {
    for (uint64_t& wanted : wanted_) wanted = std::min(wanted, end);
  }

  // For a log whose records are the ones below `end`, all of them on the device: after a recovery,
  // or after a truncation, which may take back what had been acknowledged.
  void Reset(uint64_t end) {
    wanted_.fill(end);
    reached_.fill(end);
  }

  uint64_t ReachedEnd(Level level) const { return reached_[static_cast<size_t>(level)]; }
  uint64_t memory_end() const { return ReachedEnd(Level::kMemory); }
  uint64_t synced_end() const { return ReachedEnd(Level::kSync); }

  // The level that the next commit has to bring about: the highest that a record is wanted at and
  // has not reached. Nothing where there is no such record.
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

#endif  // DURLOG_LOG_ACK_LEDGER_H_
