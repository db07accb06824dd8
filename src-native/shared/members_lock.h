// The locks under which a member joins, leaves or recovers a log: PageLock::kJoin, and the file
// `lock`, on which each member has a shared lock, and an exclusive writer an exclusive one.
#pragma once

#include <cstdint>
#include <string>

#include "platform/file_system.h"
#include "shared/member.h"

namespace durlog {

// Holds PageLock::kJoin, which only one member at a time can have.
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

// Takes the lock exclusively if no other process has it, not even shared. Success proves that there
// is no living member and no exclusive writer.
Result<bool> TakeAsFirst(File& lock);
// Stores the process that messages of other processes name; 0 for none.
void WriteLockOwner(File& lock, int64_t pid);
// The error for a log that an exclusive writer has open.
Status LockedAlone(File& lock, FileSystem& file_system, const std::string& path);

}  // namespace durlog
