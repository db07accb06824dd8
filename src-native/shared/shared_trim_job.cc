#include "shared/shared_trim_job.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/yield.h"
#include "log/log_writer.h"
#include "record/segment_name.h"
#include "recovery/log_files.h"
#include "shared/reach_job.h"
#include "shared/stall.h"

namespace durlog {
namespace {

constexpr uint64_t kPauseMicros = 1000;
constexpr uint64_t kMaxWaitMicros = 10'000'000;

}  // namespace

// In front of it everything is whole and synced.
uint64_t SharedTrimJob::SyncedFirst() {
  MembersPage& page = member_->page();
  return std::min({page.Load(PageWord::kSyncedFirst), page.Load(PageWord::kCommittedFirst),
                   page.Load(PageWord::kActiveFirst)});
}

// Of the segments that are to go.
Status SharedTrimJob::SyncSealed() {
  const uint64_t end = std::min(seq_, member_->page().Load(PageWord::kActiveFirst));
  if (SyncedFirst() >= end) return Status::Ok();
  ReachJob sync(member_, committed_, end, Level::kSync, stall_ms_);
  sync.SyncAnyway();
  sync.RunOnce();
  if (!sync.status().ok()) return AsSyncFailure(sync.status());
  return sync.stall() ? StallError(*sync.stall()) : Status::Ok();
}

Status SharedTrimJob::TrimAlone() {
  MembersPage& page = member_->page();
  const uint64_t keep = SyncedFirst();
  DURLOG_ASSIGN_OR_RETURN(const LogFiles files, ListLogFiles(member_->directory()));
  const std::vector<uint64_t>& segments = files.segments;
  size_t trimmed = 0;
  while (trimmed + 1 < segments.size() && segments[trimmed + 1] <= std::min(seq_, keep)) ++trimmed;
  if (trimmed == 0) return Status::Ok();
  // Before they go, so that no reader begins with them.
  page.Raise(PageWord::kFirstSeq, segments[trimmed]);
  member_->live().RaiseFirstSeq(segments[trimmed]);
  for (size_t i = 0; i < trimmed; ++i) {
    DURLOG_RETURN_IF_ERROR(member_->directory().Remove(SegmentName(segments[i])));
  }
  return member_->directory().Sync();
}

Status SharedTrimJob::Trim() {
  MembersPage& page = member_->page();
  Status synced = SyncSealed();
  if (!synced.ok() && synced.code() != Code::kStalled) return synced;
  const uint64_t begin = member_->file_system().MonotonicMicros();
  for (;;) {
    DURLOG_ASSIGN_OR_RETURN(const bool alone, page.TryLock(PageLock::kTrim));
    if (alone) {
      Status trimmed = TrimAlone();
      page.Unlock(PageLock::kTrim);
      return trimmed.ok() ? std::move(synced) : std::move(trimmed);
    }
    if (cancelled()) return Status::Ok();
    if (member_->file_system().MonotonicMicros() - begin >= kMaxWaitMicros) break;
    SleepMicros(kPauseMicros);
  }
  const int64_t pid = page.OtherOwnerOf(PageLock::kTrim).value_or(0);
  return Status::Error(Code::kBackpressure,
                       "another writer is trimming the log and does not get on; let it go on, or "
                       "end it")
      .WithOwner(pid);
}

}  // namespace durlog
