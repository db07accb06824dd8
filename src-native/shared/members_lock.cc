#include "shared/members_lock.h"

#include <optional>

#include "base/owner_line.h"
#include "base/yield.h"
#include "record/segment_name.h"
#include "shared/steps.h"

namespace durlog {
namespace {

// How often to try again if an exclusive lock may be released soon.
constexpr int kLastMemberPauses = 20;
constexpr uint64_t kJoinPauseMicros = 1000;

}  // namespace

Status JoinLock::Take(uint64_t wait_ms) {
  const uint64_t begin = member_.file_system().MonotonicMicros();
  for (;;) {
    DURLOG_ASSIGN_OR_RETURN(held_, member_.page().TryLock(PageLock::kJoin));
    if (held_) return Status::Ok();
    if (member_.file_system().MonotonicMicros() - begin >= wait_ms * 1000) break;
    SleepMicros(kJoinPauseMicros);
  }
  const int64_t pid = member_.page().OtherOwnerOf(PageLock::kJoin).value_or(0);
  return Status::Error(Code::kLocked,
                       "another writer is opening or closing the log and is stopped or slow: "
                       "resume or kill it")
      .WithOwner(pid)
      .WithPath(member_.directory().path());
}

// When a process dies, the system releases its locks one after the other: the last member's
// exclusive lock on the log may outlive PageLock::kJoin for a moment, and must not be mistaken for
// the lock of an exclusive writer.
Result<bool> TakeAsFirst(File& lock) {
  for (int pauses = 0;; ++pauses) {
    AtStep(Step::kJoining);
    DURLOG_ASSIGN_OR_RETURN(const bool first, lock.TryLockRange(LockKind::kExclusive, 0, 0));
    if (first || pauses == kLastMemberPauses) return first;
    DURLOG_ASSIGN_OR_RETURN(const std::optional<LockKind> others, lock.RangeLockOfOthers(0, 0));
    if (others == LockKind::kShared) return false;
    SleepMicros(kJoinPauseMicros);
  }
}

void WriteLockOwner(File& lock, int64_t pid) {
  const std::string line = OwnerLine(pid);
  static_cast<void>(lock.WriteAt(0, line.data(), line.size()).ok());
}

Status LockedAlone(File& lock, FileSystem& file_system, const std::string& path) {
  char line[kOwnerLineBytes];
  const Result<size_t> read = lock.ReadAt(0, line, sizeof line);
  const int64_t pid = read.ok() ? OwnerInLine(line, *read) : 0;
  return Status::Locked(pid, file_system.ProcessId())
      .WithMessage(
          "a writer has the log open alone: close the log there, or open it with \"shared\" "
          "in every process")
      .WithPath(path);
}

}  // namespace durlog
