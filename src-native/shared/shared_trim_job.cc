#include "shared/shared_trim_job.h"

#include <algorithm>
#include <cstddef>

#include "base/yield.h"
#include "record/segment_name.h"
#include "recovery/log_files.h"
#include "shared/reach_job.h"
#include "shared/stall.h"
#include "shared/steps.h"
#include "write/log_writer.h"

namespace durlog {
namespace {

constexpr uint64_t kTrimPauseMicros = 1000;
// The time to wait for a member that trims, in stalls: removing files takes longer than storing a
// record.
constexpr uint64_t kTrimStalls = 5;

}  // namespace

// The first seq of a segment: all earlier segments are whole and synced.
uint64_t SharedTrimJob::SyncedFirst() {
  MembersPage& page = member_->page();
  return std::min({page.Load(PageWord::kSyncedFirst), page.Load(PageWord::kCommittedFirst),
                   page.Load(PageWord::kActiveFirst)});
}

// Syncs the segments that are to be removed.
Status SharedTrimJob::SyncSealed() {
  const uint64_t end = std::min(seq_, member_->page().Load(PageWord::kActiveFirst));
  if (SyncedFirst() >= end) return Status::Ok();
  ReachJob sync(member_, committed_, end, Level::kSync, stall_ms_);
  sync.SyncAnyway();
  sync.RunOnce();
  DURLOG_RETURN_IF_ERROR(Status(sync.status()));
  stall_ = sync.stall();
  return stall_ ? StallError(*stall_) : Status::Ok();
}

// The caller holds PageLock::kTrim.
Status SharedTrimJob::RemoveSegments() {
  MembersPage& page = member_->page();
  const uint64_t keep = SyncedFirst();
  const uint64_t active = page.Load(PageWord::kActiveFirst);
  DURLOG_ASSIGN_OR_RETURN(const LogFiles files, ListLogFiles(member_->directory()));
  const std::vector<uint64_t>& segments = files.segments;
  if (segments.empty() || segments.back() < active) {
    return Status::Error(Code::kIo,
                         "another program removed the log's newest segment while the log is open: "
                         "close the log everywhere, and restore the file from a copy")
        .WithPath(member_->directory().PathOf(SegmentName(active)));
  }
  size_t trimmed = 0;
  while (trimmed + 1 < segments.size() && segments[trimmed + 1] <= std::min(seq_, keep)) ++trimmed;
  AtStep(Step::kTrimming);
  // Before the files are removed, so that no reader begins with them.
  page.Raise(PageWord::kFirstSeq, segments[trimmed]);
  member_->live().RaiseFirstSeq(segments[trimmed]);
  for (size_t i = 0; i < trimmed; ++i) {
    DURLOG_RETURN_IF_ERROR(member_->directory().Remove(SegmentName(segments[i])));
  }
  if (trimmed == 0) return Status::Ok();
  Status synced = member_->directory().Sync();
  if (synced.ok()) return synced;
  // The failure may concern the name of a segment for which a member syncs the folder after this.
  page.Raise(PageWord::kLatched, 1);
  return AsSyncFailure(std::move(synced));
}

Status SharedTrimJob::Trim() {
  MembersPage& page = member_->page();
  Status synced = SyncSealed();
  if (!synced.ok() && synced.code() != Code::kStalled) return synced;
  const uint64_t begin = member_->file_system().MonotonicMicros();
  for (;;) {
    DURLOG_ASSIGN_OR_RETURN(const bool locked, page.TryLock(PageLock::kTrim));
    if (locked) {
      const PageLockRelease release(page, PageLock::kTrim);
      DURLOG_RETURN_IF_ERROR(RemoveSegments());
      return synced;
    }
    if (cancelled()) return Status::Ok();
    const uint64_t waited = member_->file_system().MonotonicMicros() - begin;
    if (waited >= uint64_t{stall_ms_} * 1000 * kTrimStalls) break;
    SleepMicros(kTrimPauseMicros);
  }
  stall_ = Stall{page.OtherOwnerOf(PageLock::kTrim).value_or(0), page.Load(PageWord::kFirstSeq)};
  return Status::Error(Code::kStalled,
                       "another writer is trimming the log and is stopped or slow: resume or kill "
                       "it, then trim again")
      .WithOwner(stall_->pid);
}

}  // namespace durlog
