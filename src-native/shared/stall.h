// A living member that holds up another one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"

namespace durlog {

struct Stall {
  int64_t pid = 0;   // 0: not known
  uint64_t seq = 0;  // this one and all after it wait
};

inline Status StallError(const Stall& stall) {
  return Status::Error(Code::kStalled, "another writer is stopped or slow, and holds up seq " +
                                           std::to_string(stall.seq) + " and all after it")
      .WithOwner(stall.pid);
}

// Counts the waits in a row that have ended with the same stall.
class StallRow {
 public:
  void Note(const std::optional<Stall>& stall) {
    const bool again = stall && count_ > 0 && stall->seq == seq_;
    count_ = again ? count_ + 1 : stall ? 1 : 0;
    if (stall) seq_ = stall->seq;
  }
  // A close waits no longer: a device that is slow has ended its sync by then.
  bool lasts() const { return count_ >= kLasting; }

 private:
  static constexpr uint32_t kLasting = 5;

  uint32_t count_ = 0;
  uint64_t seq_ = 0;
};

}  // namespace durlog
