#include "shared/join_lock.h"

#include "base/yield.h"

namespace durlog {
namespace {

constexpr uint64_t kPauseMicros = 1000;

}  // namespace

Status JoinLock::Take(uint64_t wait_ms) {
  const uint64_t begin = member_.file_system().MonotonicMicros();
  for (;;) {
    DURLOG_ASSIGN_OR_RETURN(held_, member_.page().TryLock(PageLock::kJoin));
    if (held_) return Status::Ok();
    if (member_.file_system().MonotonicMicros() - begin >= wait_ms * 1000) break;
    SleepMicros(kPauseMicros);
  }
  const int64_t pid = member_.page().OtherOwnerOf(PageLock::kJoin).value_or(0);
  return Status::Error(Code::kLocked,
                       "another writer is opening or closing the log and is stopped or slow: "
                       "resume or kill it")
      .WithOwner(pid)
      .WithPath(member_.directory().path());
}

}  // namespace durlog
