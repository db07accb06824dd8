// The locks that decide who may write a log: the file `lock`, and PageLock::kJoin.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/owner_line.h"
#include "platform/file_system.h"
#include "shared/members_page.h"

namespace durlog {

// This member's locks on the file `lock`:
//
//   alone      all bytes, exclusively: a writer that has the log open alone, the first member while
//              it recovers the log, and the last member while it leaves
//   entering   byte 0, shared: keeps the log from being opened alone
//   member     byte 0 and the byte whose offset is the session's number, both shared
//
// A session begins while its first member is alone. Until its last member has left, some member has
// a lock, so no process can be alone. So if another process has the lock of a member for the
// session that the page names, and this process is entering, the session has not ended and cannot
// end.
class MembersLock {
 public:
  static Result<std::unique_ptr<MembersLock>> Open(Directory& directory, OwnerProcess process);
  MembersLock(const MembersLock&) = delete;
  MembersLock& operator=(const MembersLock&) = delete;

  // Each of these two returns false, and changes nothing, if a lock of another process conflicts.
  Result<bool> TryBeAlone() { return file_->TryLockRange(LockKind::kExclusive, 0, 0); }
  Result<bool> TryEnter() { return file_->TryLockRange(LockKind::kShared, 0, 1); }
  // Whether another process is a member of the session. Meaningful while this process is entering.
  Result<bool> HasOtherMember(uint64_t session);
  // From alone or entering to member; between them is no moment without a lock.
  Status BecomeMember(uint64_t session);
  // Releases everything.
  void Leave() { static_cast<void>(file_->UnlockRange(0, 0)); }

  // The identity of the file, which may have been renamed or removed since.
  Result<FileId> Id() { return file_->Id(); }

  // The process that messages of other processes name.
  void NameOwner();
  void ForgetOwner();
  // The error for a log that another writer has open alone.
  Status LockedAlone();

  // A number for a new session.
  static uint64_t NewSession(FileSystem& file_system);

 private:
  MembersLock(std::unique_ptr<File> file, std::string folder, OwnerProcess process)
      : file_(std::move(file)), folder_(std::move(folder)), process_(process) {}
  void WriteOwner(const OwnerProcess& owner);

  const std::unique_ptr<File> file_;
  const std::string folder_;
  const OwnerProcess process_;
};

// Holds PageLock::kJoin, which only one member at a time can have.
class JoinLock {
 public:
  JoinLock(FileSystem& file_system, MembersPage& page) : file_system_(file_system), page_(page) {}
  ~JoinLock() {
    if (held_) page_.Unlock(PageLock::kJoin);
  }
  JoinLock(const JoinLock&) = delete;
  JoinLock& operator=(const JoinLock&) = delete;

  // kLocked if another member keeps it for `wait_ms`.
  Status Take(uint64_t wait_ms, const std::string& folder);

 private:
  FileSystem& file_system_;
  MembersPage& page_;
  bool held_ = false;
};

}  // namespace durlog
