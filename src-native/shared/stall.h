// A living member that makes no progress, so that other members wait for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"

namespace durlog {

struct Stall {
  int64_t pid = 0;   // 0: not known
  uint64_t seq = 0;  // this record and all later ones wait
};

inline Status StallError(const Stall& stall) {
  return Status::Error(Code::kStalled, "another writer is stopped or slow and delays seq " +
                                           std::to_string(stall.seq) + " and all later records")
      .WithOwner(stall.pid);
}

// Counts consecutive waits that have ended with a stall at the same seq.
class StallStreak {
 public:
  void Note(const std::optional<Stall>& stall) {
    const bool again = stall && count_ > 0 && stall->seq == seq_;
    count_ = again ? count_ + 1 : stall ? 1 : 0;
    if (stall) seq_ = stall->seq;
  }
  // True if a close need not wait any longer: a sync to a slow device would have ended by then.
  bool lasts() const { return count_ >= kLasting; }

 private:
  static constexpr uint32_t kLasting = 5;

  uint32_t count_ = 0;
  uint64_t seq_ = 0;
};

}  // namespace durlog
