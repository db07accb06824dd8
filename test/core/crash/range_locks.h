// Byte-range locks of one simulated file, as the system keeps them per open file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "platform/file_system.h"

namespace durlog::crash {

class RangeLocks {
 public:
  // An open file, and the process that has opened it.
  struct Owner {
    const void* open;
    uint32_t process;
  };

  // As File::TryLockRange(), for [begin, end).
  bool TryLock(const Owner& owner, LockKind kind, uint64_t begin, uint64_t end) {
    for (const Held& held : held_) {
      const bool conflicts = kind == LockKind::kExclusive || held.kind == LockKind::kExclusive;
      if (conflicts && held.owner.open != owner.open && Overlap(held, begin, end)) return false;
    }
    Unlock(owner.open, begin, end);
    held_.push_back(Held{owner, kind, begin, end});
    return true;
  }

  void Unlock(const void* open, uint64_t begin, uint64_t end) {
    std::vector<Held> left;
    for (const Held& held : held_) {
      if (held.owner.open != open || !Overlap(held, begin, end)) {
        left.push_back(held);
        continue;
      }
      if (held.begin < begin) left.push_back(Held{held.owner, held.kind, held.begin, begin});
      if (held.end > end) left.push_back(Held{held.owner, held.kind, end, held.end});
    }
    held_ = std::move(left);
  }

  std::optional<LockKind> OfOthers(const void* open, uint64_t begin, uint64_t end) const {
    for (const Held& held : held_) {
      if (held.owner.open != open && Overlap(held, begin, end)) return held.kind;
    }
    return std::nullopt;
  }

  // For a process that dies.
  void ReleaseAllOf(uint32_t process) {
    held_.erase(
        std::remove_if(held_.begin(), held_.end(),
                       [process](const Held& held) { return held.owner.process == process; }),
        held_.end());
  }

 private:
  struct Held {
    Owner owner;
    LockKind kind;
    uint64_t begin;
    uint64_t end;
  };

  static bool Overlap(const Held& held, uint64_t begin, uint64_t end) {
    return held.begin < end && begin < held.end;
  }

  std::vector<Held> held_;
};

}  // namespace durlog::crash
