#include "shared/reach_job.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/yield.h"
#include "recovery/log_files.h"
#include "shared/steps.h"
#include "write/log_writer.h"

namespace durlog {
namespace {

// A member stores a frame in less than a microsecond, unless the system has preempted its thread.
// Then it may need this thread's processor, so this thread yields.
constexpr uint32_t kSpins = 32;
constexpr uint32_t kYields = 64;
constexpr uint32_t kMaxPauseMicros = 2000;
// How often to check whether the syncing member is still alive: a member that dies rings no bell.
constexpr uint64_t kBellMicros = 2000;
// How long a job waits for another process on a thread that other work needs.
constexpr uint64_t kBriefWaitMicros = 1000;

bool TrustsSyncs(const std::shared_ptr<SharedSegment>& segment) {
  return segment->read_back() == nullptr;
}

PageWord EndWordOf(Level level) {
  if (level == Level::kAsync) return PageWord::kAsyncEnd;
  return level == Level::kFull ? PageWord::kFullEnd : PageWord::kSyncedEnd;
}

}  // namespace

bool ReachJob::Pause() {
  if (pauses_ < kSpins) {
    ++pauses_;
    SpinThread();
    return true;
  }
  const uint64_t now = member_->file_system().MonotonicMicros();
  if (pauses_ == kSpins) paused_since_ = now;
  if (cancelled()) return false;
  if (now - paused_since_ >= uint64_t{stall_ms_} * 1000) return false;
  if (now - paused_since_ >= kBriefWaitMicros && MustLeaveThread()) return false;
  if (pauses_++ < kSpins + kYields) {
    YieldThread();
  } else {
    const uint32_t micros = std::min((pauses_ - kSpins - kYields) * 50, kMaxPauseMicros);
    SleepMicros(micros);
  }
  return true;
}

void ReachJob::NoteStall(int64_t pid, uint64_t seq) {
  if (!cancelled() && !leaves_thread()) stall_ = Stall{pid, seq};
}

Result<bool> ReachJob::AwaitCommitted() {
  pauses_ = 0;
  for (;;) {
    const uint64_t before = walk_.point().seq;
    DURLOG_RETURN_IF_ERROR(walk_.Advance());
    if (walk_.point().seq >= end_) return true;
    if (walk_.point().seq > before) pauses_ = 0;
    if (walk_.VoidIfDead()) continue;
    if (Pause()) continue;
    const FrameStep& stop = walk_.stop();
    if (stop.kind == StepKind::kReserved) {
      NoteStall(member_->page().SlotOwner(OwnerOf(stop.word)), walk_.point().seq);
    }
    return false;
  }
}

bool ReachJob::IsReached() {
  return !syncs_anyway_ && member_->page().Load(EndWordOf(level_)) >= end_;
}

// The unsynced segments before the one that begins with `first_seq`. If a segment is trimmed during
// the call, it was synced.
Result<std::vector<std::shared_ptr<SharedSegment>>> ReachJob::UnsyncedBefore(uint64_t first_seq) {
  std::vector<std::shared_ptr<SharedSegment>> segments;
  const uint64_t begin = member_->page().Load(PageWord::kSyncedFirst);
  if (begin >= first_seq) return segments;
  DURLOG_ASSIGN_OR_RETURN(const LogFiles files, ListLogFiles(member_->directory()));
  for (const uint64_t at : files.segments) {
    if (at < begin || at >= first_seq) continue;
    Result<std::shared_ptr<SharedSegment>> segment = member_->SegmentAt(at);
    if (!segment.ok() && member_->page().Load(PageWord::kSyncedFirst) > at) continue;
    if (!segment.ok()) return segment.TakeStatus();
    segments.push_back(std::move(*segment));
  }
  return segments;
}

// After this no member acknowledges a record that has not reached its level.
Status ReachJob::LatchAll(Status failure) {
  member_->page().Raise(PageWord::kLatched, 1);
  return AsSyncFailure(std::move(failure));
}

// Takes no lock: if two members start the writeback at the same time, little is left for the
// second.
Status ReachJob::StartWriteback() {
  MembersPage& page = member_->page();
  if (IsReached()) return Status::Ok();
  const LogPoint committed = walk_.point();
  const uint64_t first_seq = committed.segment->first_seq();
  Status started;
  if (page.Load(PageWord::kAsyncEnd) < first_seq) {
    DURLOG_ASSIGN_OR_RETURN(const auto sealed, UnsyncedBefore(first_seq));
    for (const std::shared_ptr<SharedSegment>& segment : sealed) {
      if (started.ok()) started = segment->file().StartWriteback(0, segment->bytes());
    }
  }
  if (started.ok()) started = committed.segment->file().StartWriteback(0, committed.offset);
  // A page that could not be written can no longer reach any level.
  if (!started.ok()) return LatchAll(std::move(started));
  if (page.Load(PageWord::kLatched) == 0) page.Raise(PageWord::kAsyncEnd, committed.seq);
  return Status::Ok();
}

Status ReachJob::SyncSegments(const std::vector<std::shared_ptr<SharedSegment>>& sealed,
                              const LogPoint& committed) {
  for (const std::shared_ptr<SharedSegment>& segment : sealed) {
    DURLOG_RETURN_IF_ERROR(segment->file().SyncFull());
  }
  if (level_ == Level::kFull) {
    DURLOG_RETURN_IF_ERROR(committed.segment->file().SyncFull());
  } else {
    // Does not sync the pages populated ahead, which are dirty too.
    DURLOG_RETURN_IF_ERROR(
        committed.segment->mapping().Sync(0, static_cast<size_t>(committed.offset)));
  }
  const uint64_t last = committed.segment->first_seq();
  if (member_->page().Load(PageWord::kNamesFirst) >= last) return Status::Ok();
  DURLOG_RETURN_IF_ERROR(member_->directory().Sync());
  member_->page().Raise(PageWord::kNamesFirst, last);
  return Status::Ok();
}

// Checks the segments after they were synced: if another process has received the report of a
// failed writeback, no sync by this member reports it. See ReadBack.
Status ReachJob::CheckDevice(const std::vector<std::shared_ptr<SharedSegment>>& sealed,
                             const LogPoint& committed) {
  const uint32_t alignment = member_->direct_alignment();
  if (alignment == 0) return Status::Ok();  // see CheckShareable()
  const uint64_t synced_end = member_->page().Load(PageWord::kSyncedEnd);
  const uint64_t trusted_end = member_->page().Load(PageWord::kTrustedEnd);
  const auto check = [&](SharedSegment& segment, uint64_t end) {
    ReadBack* const read_back = segment.read_back();
    if (read_back == nullptr) return Status::Ok();
    if (read_back->IsNoLongerNeeded(trusted_end)) {
      segment.TrustSyncs();
      return Status::Ok();
    }
    return read_back->Check(member_->directory(), segment, alignment, synced_end, end);
  };
  for (const std::shared_ptr<SharedSegment>& segment : sealed) {
    DURLOG_RETURN_IF_ERROR(check(*segment, segment->bytes()));
  }
  return check(*committed.segment, committed.offset);
}

// The caller holds PageLock::kSync. An end is published only after it has been reached.
Status ReachJob::SyncForAll() {
  MembersPage& page = member_->page();
  DURLOG_RETURN_IF_ERROR(walk_.Advance());
  const LogPoint committed = walk_.point();
  committed.segment->DropBefore(committed.offset);
  const uint64_t rotations = page.Load(PageWord::kRotations);
  const bool is_active = page.Load(PageWord::kActiveFirst) == committed.segment->first_seq();
  DURLOG_ASSIGN_OR_RETURN(const auto sealed, UnsyncedBefore(committed.segment->first_seq()));
  AtStep(Step::kSyncBegun);
  const uint64_t began = member_->file_system().MonotonicMicros();
  // After a failed sync, the kernel may have dropped the pages, and it reports this only once, with
  // any errno. So no member may sync them again.
  Status synced = SyncSegments(sealed, committed);
  if (!synced.ok()) return LatchAll(std::move(synced));
  Status checked = CheckDevice(sealed, committed);
  if (checked.lacks_resources()) return checked;
  if (checked.ok()) checked = member_->CheckLock();
  if (!checked.ok()) return LatchAll(std::move(checked));
  AtStep(Step::kSynced);
  sync_micros_ = member_->file_system().MonotonicMicros() - began;
  // A member that has latched the log during the sync has rejected its appends.
  if (page.Load(PageWord::kLatched) != 0) return Status::Ok();
  page.Raise(PageWord::kAsyncEnd, committed.seq);
  page.Raise(PageWord::kSyncedEnd, committed.seq);
  if (level_ == Level::kFull) page.Raise(PageWord::kFullEnd, committed.seq);
  page.Raise(PageWord::kSyncedFirst, committed.segment->first_seq());
  if (is_active) page.Raise(PageWord::kSyncedRotations, rotations);
  // After kSyncedFirst, so that the segments before the committed point need no ReadBack any more.
  if (TrustsSyncs(committed.segment) && std::all_of(sealed.begin(), sealed.end(), TrustsSyncs)) {
    page.Raise(PageWord::kTrustedEnd, committed.seq);
  }
  member_->live().RaiseSyncedEnd(committed.seq);
  syncs_anyway_ = false;
  AtStep(Step::kSyncPublished);
  return Status::Ok();
}

Status ReachJob::AwaitSynced() {
  MembersPage& page = member_->page();
  FileSystem& clock = member_->file_system();
  const uint64_t began = clock.MonotonicMicros();
  uint64_t waits_since = began;
  uint32_t heard = page.SyncBell();
  for (;;) {
    if (IsReached() || page.Load(PageWord::kLatched) != 0 || cancelled()) return Status::Ok();
    const uint32_t bell = page.SyncBell();
    // Another thread or member has ended a sync: that is progress.
    if (std::exchange(heard, bell) != bell) waits_since = clock.MonotonicMicros();
    std::unique_lock<std::mutex> here(member_->syncing(), std::try_to_lock);
    bool leads = here.owns_lock();
    if (leads) {
      DURLOG_ASSIGN_OR_RETURN(leads, page.TryLock(PageLock::kSync));
    }
    if (leads) {
      // The previous holder of the lock may have latched the log.
      Status synced =
          IsReached() || page.Load(PageWord::kLatched) != 0 ? Status::Ok() : SyncForAll();
      page.Unlock(PageLock::kSync);
      page.RingSyncBell();
      member_->live().Ring();
      DURLOG_RETURN_IF_ERROR(std::move(synced));
      continue;
    }
    if (here.owns_lock()) here.unlock();
    page.WaitForSyncBell(bell, kBellMicros);
    if (clock.MonotonicMicros() - began >= kBriefWaitMicros && MustLeaveThread())
      return Status::Ok();
    if (clock.MonotonicMicros() - waits_since < uint64_t{stall_ms_} * 1000) continue;
    if (const std::optional<int64_t> leader = page.OtherOwnerOf(PageLock::kSync)) {
      NoteStall(*leader, page.Load(EndWordOf(level_)));
      return Status::Ok();
    }
    // Another thread of this member is syncing: the duration depends only on the device.
    waits_since = clock.MonotonicMicros();
  }
}

Status ReachJob::Reach() {
  DURLOG_ASSIGN_OR_RETURN(const bool committed, AwaitCommitted());
  if (!committed || level_ == Level::kMemory) return Status::Ok();
  return level_ == Level::kAsync ? StartWriteback() : AwaitSynced();
}

}  // namespace durlog
