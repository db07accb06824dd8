#include "log/position_index.h"

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

std::list<PositionIndex::Segment>::iterator PositionIndex::FindSegment(uint64_t salt) {
  const auto found = std::find_if(segments_.begin(), segments_.end(),
                                  [salt](const Segment& segment) { return segment.salt == salt; });
  if (found != segments_.end()) segments_.splice(segments_.begin(), segments_, found);
  return found;
}

void PositionIndex::Note(uint64_t salt, Position position) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (FindSegment(salt) == segments_.end()) {
    segments_.push_front(Segment{salt, {}});
    if (segments_.size() > kMaxSegments) segments_.pop_back();
  }
  std::vector<Position>& positions = segments_.front().positions;
  const auto behind = std::upper_bound(positions.begin(), positions.end(), position.seq, IsBefore);
  if (behind != positions.begin()) {
    const Position& before = *std::prev(behind);
    if (position.offset < before.offset + kSpacingBytes) return;
  }
  if (behind != positions.end() && behind->offset < position.offset + kSpacingBytes) return;
  if (positions.size() < kMaxPositions) positions.insert(behind, position);
}

std::optional<PositionIndex::Position> PositionIndex::Find(uint64_t salt, uint64_t seq) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto segment = FindSegment(salt);
  if (segment == segments_.end()) return std::nullopt;
  const auto behind =
      std::upper_bound(segment->positions.begin(), segment->positions.end(), seq, IsBefore);
  if (behind == segment->positions.begin()) return std::nullopt;
  return *std::prev(behind);
}

void PositionIndex::Forget(uint64_t salt) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto segment = FindSegment(salt);
  if (segment != segments_.end()) segments_.erase(segment);
}

}  // namespace durlog
