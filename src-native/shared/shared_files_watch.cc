#include "shared/shared_files_watch.h"

#include <algorithm>

#include "record/segment_name.h"
#include "recovery/shared_session.h"

namespace durlog {

void SharedFilesWatch::Begin(Executor& executor, const LogPoint& point) {
  HeldFiles held;
  held.folder = IdOf(member_->directory().Id());
  held.names = {{kLockName, IdOf(member_->lock().Id())}, {kSharedName, IdOf(member_->page().Id())}};
  held.open = member_->HeldSegments();
  const uint64_t active = point.segment->first_seq();
  // A frame begins where the append point was at the last check.
  if (active == checked_segment_ && checked_offset_ < point.offset && !held.open.empty() &&
      held.open.back().first_seq == active) {
    held.open.back().frame_at = checked_offset_;
  }
  checked_segment_ = active;
  checked_offset_ = point.offset;
  // Without the segments that another member has trimmed.
  held.segments.assign(std::lower_bound(listed_.begin(), listed_.end(), first_seq()),
                       listed_.end());
  auto check =
      std::make_shared<FilesCheck>(member_->file_system(), member_->directory(), std::move(held));
  watch_.Begin(check);
  executor.Execute(std::move(check));
}

Status SharedFilesWatch::TakeFailure() {
  const std::shared_ptr<FilesCheck> check = watch_.TakeDone();
  if (!check) return Status::Ok();
  if (check->status().ok()) {
    listed_ = check->TakeListed();
    return Status::Ok();
  }
  // The segment has been trimmed since the check began.
  const bool trimmed = check->changed_segment() && *check->changed_segment() < first_seq();
  return trimmed ? Status::Ok() : check->status();
}

}  // namespace durlog
