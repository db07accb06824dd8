#include "shared/shared_files_watch.h"

#include <algorithm>

#include "record/segment_name.h"
#include "recovery/shared_session.h"

namespace durlog {

void SharedFilesWatch::Begin(Executor& executor, const LogPoint& committed) {
  HeldFiles held;
  held.folder = IdOf(member_->directory().Id());
  held.names = {{kLockName, IdOf(member_->lock().Id()), 0},
                {kSharedName, IdOf(member_->page().Id()), kSharedPageBytes}};
  held.open = member_->HeldSegments();
  held.quiet_before = std::min(Load(PageWord::kSyncedFirst), Load(PageWord::kCommittedFirst));
  for (HeldSegment& each : held.open) {
    if (each.first_seq == committed.segment->first_seq()) each.end = committed.offset;
  }
  // Without the segments that another member has trimmed.
  held.segments.assign(std::lower_bound(listed_.begin(), listed_.end(), Load(PageWord::kFirstSeq)),
                       listed_.end());
  watch_.Begin(executor, member_->directory(), std::move(held));
}

Status SharedFilesWatch::TakeFailure() {
  const std::shared_ptr<FilesCheck> check = watch_.TakeDone();
  if (!check) return Status::Ok();
  if (check->status().ok()) {
    listed_ = check->TakeListed();
    return Status::Ok();
  }
  // The segment has been trimmed since the check began.
  const bool trimmed =
      check->changed_segment() && *check->changed_segment() < Load(PageWord::kFirstSeq);
  return trimmed ? Status::Ok() : check->status();
}

}  // namespace durlog
