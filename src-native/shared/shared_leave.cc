// Leaving the writers of a log.
#include <memory>
#include <utility>

#include "segment/synced_slot.h"
#include "shared/shared_log.h"
#include "shared/steps.h"

namespace durlog {

SharedLog::~SharedLog() {
  commits_.Stop();
  rotation_.Stop();
  pages_.Stop();
  trims_.CancelAll();
  trims_.AwaitAll();
  if (!commits_.started()) return;  // the log was not opened completely
  if (state_.closing() && !latched()) {
    Leave();
  } else {
    member_->LeaveLog();
  }
}

// The last member states that everything is synced, for the next open. If this fails, the next open
// reads a little more, and nothing is lost. If another member is stopped while it joins or leaves,
// this member leaves without doing so, as if it had died.
void SharedLog::Leave() {
  JoinLock leaving(member_->file_system(), member_->page());
  if (!leaving.Take(options_.stall_ms, member_->directory().path()).ok()) {
    return member_->LeaveLog();
  }
  AtStep(Step::kLeaving);
  const Result<bool> last = member_->lock().TryBeAlone();
  if (last.ok() && *last) {
    member_->page().EndSession();
    LogPoint end = commits_.committed();
    if (VoidReservations(AtReserved::kVoidAll, &end).ok()) {
      static_cast<void>(StateEnd(std::move(end)));
      member_->lock().ForgetOwner();
    }
  }
  // Before PageLock::kJoin: see Open().
  member_->LeaveLog();
}

Status SharedLog::StateEnd(LogPoint end) {
  MembersPage& page = member_->page();
  static_cast<void>(member_->directory().Remove(page.NextSpareName()));
  if (page.Load(PageWord::kLatched) != 0) return state_.LatchedError();
  SharedSegment& segment = *end.segment;
  DURLOG_ASSIGN_OR_RETURN(const uint64_t stated,
                          ReadSyncedSlot(segment.file(), segment.crc_seed()));
  if (stated < end.seq) {
    ReachJob sync(member_, commits_.committed(), end.seq, Level::kSync, options_.stall_ms);
    sync.RunOnce();
    DURLOG_RETURN_IF_ERROR(sync.status());
    if (page.Load(PageWord::kSyncedEnd) < end.seq) return state_.LatchedError();
    AtStep(Step::kEndSynced);
    DURLOG_RETURN_IF_ERROR(RaiseSyncedSlot(segment.file(), segment.crc_seed(), end.seq));
  }
  member_->live().RaiseMemoryEnd(member_->slot(), end.seq);
  return Status::Ok();
}

}  // namespace durlog
