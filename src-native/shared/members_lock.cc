#include "shared/members_lock.h"

#include <optional>
#include <utility>

#include "base/owner_line.h"
#include "base/yield.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

constexpr uint64_t kJoinPauseMicros = 1000;
// Byte 0 is that of processes that enter. Offsets have 63 bits.
constexpr uint64_t kLeastSession = 2;
constexpr int kSessionBits = 62;

}  // namespace

Result<std::unique_ptr<MembersLock>> MembersLock::Open(Directory& directory, OwnerProcess process) {
  DURLOG_ASSIGN_OR_RETURN(auto file, directory.OpenOrCreate(kLockName));
  return std::unique_ptr<MembersLock>(new MembersLock(std::move(file), directory.path(), process));
}

uint64_t MembersLock::NewSession(FileSystem& file_system) {
  return kLeastSession + (file_system.Random64() >> (64 - kSessionBits));
}

Result<bool> MembersLock::HasOtherMember(uint64_t session) {
  if (session < kLeastSession) return false;
  DURLOG_ASSIGN_OR_RETURN(const std::optional<LockKind> kind, file_->RangeLockOfOthers(session, 1));
  return kind == LockKind::kShared;
}

// The lock on byte 0 is the last to become shared: before that, no other process can enter.
Status MembersLock::BecomeMember(uint64_t session) {
  for (const uint64_t byte : {session, uint64_t{0}}) {
    DURLOG_ASSIGN_OR_RETURN(const bool shared, file_->TryLockRange(LockKind::kShared, byte, 1));
    if (!shared) return Status::Error(Code::kIo, "a lock of the log was lost").WithPath(folder_);
  }
  DURLOG_RETURN_IF_ERROR(file_->UnlockRange(session + 1, 0));
  return file_->UnlockRange(1, session - 1);
}

void MembersLock::NameOwner() { WriteOwner(process_); }
void MembersLock::ForgetOwner() { WriteOwner({}); }

void MembersLock::WriteOwner(const OwnerProcess& owner) {
  const std::string line = OwnerLine(owner);
  static_cast<void>(file_->WriteAt(0, line.data(), line.size()));
}

Status MembersLock::LockedAlone() {
  char line[kOwnerLineBytes];
  const Result<size_t> read = file_->ReadAt(0, line, sizeof line);
  const OwnerProcess owner = read.ok() ? OwnerInLine(line, *read) : OwnerProcess{};
  return Status::Locked(owner.IdIn(process_.name_space), process_.id)
      .WithMessage(
          "a writer has the log open alone: close the log there, or open it with \"shared\" "
          "in every process")
      .WithPath(folder_);
}

Status JoinLock::Take(uint64_t wait_ms, const std::string& folder) {
  const uint64_t begin = file_system_.MonotonicMicros();
  for (;;) {
    DURLOG_ASSIGN_OR_RETURN(held_, page_.TryLock(PageLock::kJoin));
    if (held_) return Status::Ok();
    if (file_system_.MonotonicMicros() - begin >= wait_ms * 1000) break;
    SleepMicros(kJoinPauseMicros);
  }
  const int64_t pid = page_.OtherOwnerOf(PageLock::kJoin).value_or(0);
  return Status::Error(Code::kLocked,
                       "another writer is opening or closing the log and is stopped or slow: "
                       "resume or kill it")
      .WithOwner(pid)
      .WithPath(folder);
}

}  // namespace durlog
