#include "read/position_index.h"

#include <algorithm>
#include <memory>

namespace durlog {
namespace {

bool IsBefore(uint64_t seq, const PositionIndex::Position& position) { return seq < position.seq; }

}  // namespace

PositionIndex& PositionIndex::Shared() {
  // Workers may still read while the process exits.
  static PositionIndex* const index = std::make_unique<PositionIndex>().release();
  return *index;
}

PositionIndex::Segment* PositionIndex::FindSegment(uint64_t salt) {
  const auto found = by_salt_.find(salt);
  if (found == by_salt_.end()) return nullptr;
  segments_.splice(segments_.begin(), segments_, found->second);
  return &segments_.front();
}

void PositionIndex::DropOldest() {
  positions_ -= segments_.back().positions.size();
  by_salt_.erase(segments_.back().salt);
  segments_.pop_back();
}

void PositionIndex::Note(uint64_t salt, Position position) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (FindSegment(salt) == nullptr) {
    segments_.push_front(Segment{salt, {}});
    by_salt_[salt] = segments_.begin();
  }
  std::vector<Position>& positions = segments_.front().positions;
  const auto behind = std::upper_bound(positions.begin(), positions.end(), position.seq, IsBefore);
  if (behind != positions.begin()) {
    const Position& before = *std::prev(behind);
    if (position.offset < before.offset + kSpacingBytes) return;
  }
  if (behind != positions.end() && behind->offset < position.offset + kSpacingBytes) return;
  positions.insert(behind, position);
  ++positions_;
  while (segments_.size() > 1 && (positions_ > kMaxPositions || segments_.size() > kMaxSegments)) {
    DropOldest();
  }
}

std::optional<PositionIndex::Found> PositionIndex::Find(uint64_t salt, uint64_t seq) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const Segment* const segment = FindSegment(salt);
  if (segment == nullptr) return std::nullopt;
  const std::vector<Position>& positions = segment->positions;
  const auto behind = std::upper_bound(positions.begin(), positions.end(), seq, IsBefore);
  if (behind == positions.begin()) return std::nullopt;
  const Position& at = *std::prev(behind);
  return Found{at.seq, at.offset, behind == positions.end() ? 0 : behind->offset};
}

void PositionIndex::Forget(uint64_t salt) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = by_salt_.find(salt);
  if (found == by_salt_.end()) return;
  positions_ -= found->second->positions.size();
  segments_.erase(found->second);
  by_salt_.erase(found);
}

void PositionIndex::ForgetBehind(uint64_t salt, uint64_t seq) {
  const std::lock_guard<std::mutex> guard(mutex_);
  Segment* const segment = FindSegment(salt);
  if (segment == nullptr) return;
  std::vector<Position>& positions = segment->positions;
  const auto behind = std::upper_bound(positions.begin(), positions.end(), seq, IsBefore);
  positions_ -= static_cast<size_t>(positions.end() - behind);
  positions.erase(behind, positions.end());
}

void PositionIndex::Clear() {
  const std::lock_guard<std::mutex> guard(mutex_);
  segments_.clear();
  by_salt_.clear();
  positions_ = 0;
}

}  // namespace durlog
