#include "log/sync_backlog.h"

#include <algorithm>
#include <utility>

namespace durlog {

void AddFullTarget(const std::shared_ptr<Segment>& segment, std::vector<SyncTarget>* targets) {
  const auto same = [&segment](const SyncTarget& target) { return target.segment == segment; };
  auto found = std::find_if(targets->begin(), targets->end(), same);
  if (found == targets->end()) {
    found = targets->insert(found, SyncTarget{});
    found->segment = segment;
  }
  found->full = true;
}

std::vector<SyncTarget> SyncBacklog::TargetsFor(Level level) const {
  std::vector<SyncTarget> targets;
  if (level < Level::kAsync) return targets;
  for (const DirtyRange& range : dirty_) {
    SyncTarget target;
    target.segment = range.segment;
    target.begin = range.begin;
    target.end = range.end;
    targets.push_back(std::move(target));
  }
  if (level < Level::kSync) return targets;
  // A full segment is fsynced, so that a commit at kFull need not fsync all segments.
  for (const std::shared_ptr<Segment>& segment : sealed_) AddFullTarget(segment, &targets);
  return targets;
}

void SyncBacklog::Settle(const std::vector<SyncTarget>& targets) {
  for (const SyncTarget& target : targets) {
    if (target.full) {
      sealed_.erase(std::remove(sealed_.begin(), sealed_.end(), target.segment), sealed_.end());
    }
    const auto same = [&target](const DirtyRange& dirty) {
      return dirty.segment == target.segment;
    };
    const auto range = std::find_if(dirty_.begin(), dirty_.end(), same);
    if (range == dirty_.end()) continue;
    if (range->end <= target.end) {
      dirty_.erase(range);
    } else {
      range->begin = std::max(range->begin, target.end);
    }
  }
}

uint64_t SyncBacklog::segment_bytes() const {
  uint64_t bytes = 0;
  for (const DirtyRange& range : dirty_) bytes += range.segment->bytes();
  return bytes;
}

void SyncBacklog::Forget(const Segment* segment, uint64_t offset) {
  const auto gone = [segment, offset](const DirtyRange& dirty) {
    return dirty.segment.get() == segment && dirty.begin >= offset;
  };
  dirty_.erase(std::remove_if(dirty_.begin(), dirty_.end(), gone), dirty_.end());
}

void SyncBacklog::Unseal(uint64_t first_seq) {
  while (!sealed_.empty() && sealed_.back()->first_seq() >= first_seq) sealed_.pop_back();
}

void SyncBacklog::Clear() {
  dirty_.clear();
  sealed_.clear();
}

uint64_t SyncBacklog::OldestSegment(uint64_t otherwise) const {
  uint64_t oldest = otherwise;
  if (!dirty_.empty()) oldest = std::min(oldest, dirty_.front().segment->first_seq());
  if (!sealed_.empty()) oldest = std::min(oldest, sealed_.front()->first_seq());
  return oldest;
}

}  // namespace durlog
