#include "shared/member.h"

#include <algorithm>
#include <string>

#include "shared/frame_step.h"

namespace durlog {

Status Member::TakeSlot() {
  for (uint32_t slot = 1; slot <= kMaxSlot; ++slot) {
    DURLOG_ASSIGN_OR_RETURN(const bool taken, page_->TryLockSlot(slot));
    if (!taken) continue;
    slot_ = slot;
    page_->NoteSlotOwner(slot);
    return Status::Ok();
  }
  return Status::Error(Code::kLocked,
                       "the log has " + std::to_string(kMaxSlot) +
                           " writers, which is the most it can have: close it in one of them")
      .WithPath(directory_->path());
}

// Unlocks the slot only once, because the next member that joins may take it.
void Member::LeaveSlot() {
  const uint32_t slot = slot_.exchange(0);
  if (slot == 0) return;
  page_->ForgetSlotOwner(slot);
  page_->UnlockSlot(slot);
}

// If two last members leave at the same time, each of them would find the other one if it asked
// before it released its own lock.
void Member::LeaveLog() {
  LeaveSlot();
  live_.Leave();
  lock_->Leave();
  const Result<bool> last = lock_->TryBeAlone();
  if (!last.ok() || !*last) return;
  if (page_->is_mapped()) page_->EndSession();
  lock_->Leave();
}

uint32_t Member::CountMembers() {
  uint32_t members = 0;
  for (uint32_t slot = 1; slot <= kMaxSlot; ++slot) {
    if (page_->HasSlotOwner(slot) && IsAlive(slot)) ++members;
  }
  return members;
}

Result<std::shared_ptr<SharedSegment>> Member::SegmentAt(uint64_t first_seq) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = segments_.find(first_seq);
  if (found != segments_.end()) return found->second;
  DURLOG_ASSIGN_OR_RETURN(
      std::shared_ptr<SharedSegment> segment,
      SharedSegment::Open(*directory_, first_seq, page_->Uuid(), page_->RecoveredEnd(), &spare_));
  const uint64_t done =
      std::min(page_->Load(PageWord::kSyncedFirst), page_->Load(PageWord::kCommittedFirst));
  segments_.erase(segments_.begin(), segments_.lower_bound(std::min(done, first_seq)));
  segments_[first_seq] = segment;
  return segment;
}

std::vector<HeldSegment> Member::HeldSegments() {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::vector<HeldSegment> held;
  const auto begin = segments_.lower_bound(page_->Load(PageWord::kFirstSeq));
  for (auto at = begin; at != segments_.end(); ++at) {
    SharedSegment& segment = *at->second;
    HeldSegment& each = held.emplace_back();
    each.first_seq = segment.first_seq();
    each.id = IdOf(segment.file().Id());
    each.bytes = segment.bytes();
  }
  return held;
}

// A failure is harmless: the member later opens the file by its segment's name.
void Member::HoldSpare() {
  Result<OpenedSegment> spare =
      OpenSegmentFile(*directory_, page_->NextSpareName(), OpenMode::kReadWrite);
  if (!spare.ok()) return;
  uint64_t word = 1;
  const Result<size_t> read = spare->file->ReadAt(kSegmentHeaderBytes, &word, sizeof word);
  // Since it was opened, the file may have become a segment that holds a record.
  if (!read.ok() || *read != sizeof word || word != 0) return;
  const std::lock_guard<std::mutex> guard(mutex_);
  spare_ = std::move(*spare);
}

Result<std::shared_ptr<SharedSegment>> Member::SegmentOf(PageWord word) {
  for (;;) {
    const uint64_t first_seq = page_->Load(word);
    Result<std::shared_ptr<SharedSegment>> segment = SegmentAt(first_seq);
    const bool trimmed =
        segment.status().code() == Code::kNotFound && page_->Load(word) != first_seq;
    if (!trimmed) return segment;
  }
}

}  // namespace durlog
