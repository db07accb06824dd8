#include "shared/member.h"

#include <algorithm>

#include "shared/frame_step.h"

namespace durlog {

Status Member::TakeSlot() {
  for (uint32_t slot = 1; slot <= kMaxSlot; ++slot) {
    DURLOG_ASSIGN_OR_RETURN(const bool taken, page_->TryLockSlot(slot));
    if (!taken) continue;
    slot_ = slot;
    page_->PidOf(slot).store(static_cast<uint64_t>(file_system_.ProcessId()));
    return Status::Ok();
  }
  return Status::Error(Code::kLocked, "the log has as many writers as it can have, which is " +
                                          std::to_string(kMaxSlot))
      .WithPath(directory_->path());
}

void Member::LeaveSlot() {
  if (slot_ == 0) return;
  page_->PidOf(slot_).store(0);
  page_->UnlockSlot(slot_);
}

uint32_t Member::CountMembers() {
  uint32_t members = 0;
  for (uint32_t slot = 1; slot <= kMaxSlot; ++slot) {
    if (page_->PidOf(slot).load(std::memory_order_relaxed) != 0 && IsAlive(slot)) ++members;
  }
  return members;
}

Result<std::shared_ptr<SharedSegment>> Member::SegmentAt(uint64_t first_seq) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = segments_.find(first_seq);
  if (found != segments_.end()) return found->second;
  DURLOG_ASSIGN_OR_RETURN(std::shared_ptr<SharedSegment> segment,
                          SharedSegment::Open(*directory_, first_seq, page_->Uuid()));
  const uint64_t done =
      std::min(page_->Load(PageWord::kSyncedFirst), page_->Load(PageWord::kCommittedFirst));
  segments_.erase(segments_.begin(), segments_.lower_bound(std::min(done, first_seq)));
  segments_[first_seq] = segment;
  return segment;
}

}  // namespace durlog
