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

PositionIndex::IndexedSegment* PositionIndex::FindSegment(uint64_t salt) {
  const auto found = by_salt_.find(salt);
  if (found == by_salt_.end()) return nullptr;
  segments_.splice(segments_.begin(), segments_, found->second);
  return &segments_.front();
}

void PositionIndex::DropOldest() {
  positions_ -= segments_.back().size();
  by_salt_.erase(segments_.back().salt);
  segments_.pop_back();
}

void PositionIndex::Note(uint64_t salt, Position position, Place place) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (FindSegment(salt) == nullptr) {
    segments_.push_front(IndexedSegment{salt, {}});
    by_salt_[salt] = segments_.begin();
  }
  std::vector<Position>& positions = segments_.front().positions[static_cast<size_t>(place)];
  const auto after = std::upper_bound(positions.begin(), positions.end(), position.seq, IsBefore);
  if (after != positions.begin()) {
    const Position& before = *std::prev(after);
    if (position.offset < before.offset + kSpacingBytes) return;
  }
  if (after != positions.end() && after->offset < position.offset + kSpacingBytes) return;
  positions.insert(after, position);
  ++positions_;
  while (segments_.size() > 1 && (positions_ > kMaxPositions || segments_.size() > kMaxSegments)) {
    DropOldest();
  }
}

std::optional<PositionIndex::Found> PositionIndex::FindIn(const std::vector<Position>& positions,
                                                          uint64_t seq) {
  const auto after = std::upper_bound(positions.begin(), positions.end(), seq, IsBefore);
  if (after == positions.begin()) return std::nullopt;
  const Position& at = *std::prev(after);
  return Found{at.seq, at.offset, after == positions.end() ? 0 : after->offset};
}

std::optional<PositionIndex::Found> PositionIndex::Find(uint64_t salt, uint64_t seq) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const IndexedSegment* const segment = FindSegment(salt);
  if (segment == nullptr) return std::nullopt;
  return FindIn(segment->positions[static_cast<size_t>(Place::kBetweenBatches)], seq);
}

std::optional<PositionIndex::Found> PositionIndex::FindFrame(uint64_t salt, uint64_t seq) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const IndexedSegment* const segment = FindSegment(salt);
  if (segment == nullptr) return std::nullopt;
  std::optional<Found> nearest;
  for (const std::vector<Position>& positions : segment->positions) {
    const std::optional<Found> found = FindIn(positions, seq);
    if (found && (!nearest || found->offset > nearest->offset)) nearest = found;
  }
  return nearest;
}

void PositionIndex::Forget(uint64_t salt) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = by_salt_.find(salt);
  if (found == by_salt_.end()) return;
  positions_ -= found->second->size();
  segments_.erase(found->second);
  by_salt_.erase(found);
}

void PositionIndex::ForgetFrom(uint64_t salt, uint64_t seq) {
  const std::lock_guard<std::mutex> guard(mutex_);
  IndexedSegment* const segment = FindSegment(salt);
  if (segment == nullptr) return;
  for (std::vector<Position>& positions : segment->positions) {
    const auto after = std::upper_bound(positions.begin(), positions.end(), seq, IsBefore);
    positions_ -= static_cast<size_t>(positions.end() - after);
    positions.erase(after, positions.end());
  }
}

void PositionIndex::Clear() {
  const std::lock_guard<std::mutex> guard(mutex_);
  segments_.clear();
  by_salt_.clear();
  positions_ = 0;
}

}  // namespace durlog
