// The lock under which one member at a time joins, leaves or recovers a log.
#pragma once

#include <cstdint>

#include "shared/member.h"

namespace durlog {

class JoinLock {
 public:
  explicit JoinLock(Member& member) : member_(member) {}
  ~JoinLock() {
    if (held_) member_.page().Unlock(PageLock::kJoin);
  }
  JoinLock(const JoinLock&) = delete;
  JoinLock& operator=(const JoinLock&) = delete;

  // kLocked if another member keeps it for `wait_ms`.
  Status Take(uint64_t wait_ms);

 private:
  Member& member_;
  bool held_ = false;
};

}  // namespace durlog
