#include "read/recent_frames.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace durlog {

RecentFrames& RecentFrames::Shared() {
  // Workers may still read while the process exits.
  static RecentFrames* const frames = std::make_unique<RecentFrames>().release();
  return *frames;
}

RecentFrames::HeldSegment* RecentFrames::Find(uint64_t key) {
  const auto found = std::find_if(segments_.begin(), segments_.end(),
                                  [key](const HeldSegment& segment) { return segment.key == key; });
  if (found == segments_.end()) return nullptr;
  segments_.splice(segments_.begin(), segments_, found);
  return &segments_.front();
}

void RecentFrames::Note(uint64_t key, uint64_t offset, Bytes frames) {
  if (frames.size > kMaxGroupBytes) return;
  const std::lock_guard<std::mutex> guard(mutex_);
  HeldSegment* segment = Find(key);
  if (segment == nullptr) {
    if (segments_.size() == kMaxSegments) segments_.pop_back();
    segments_.push_front(HeldSegment{key, offset, {}});
    segment = &segments_.front();
  }
  if (segment->end() != offset || segment->frames.size() + frames.size > kMaxSegmentBytes) {
    segment->begin = offset;
    segment->frames.clear();
  }
  segment->frames.insert(segment->frames.end(), frames.data, frames.data + frames.size);
}

size_t RecentFrames::Read(uint64_t key, uint64_t offset, void* to, size_t capacity) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const HeldSegment* const segment = Find(key);
  if (segment == nullptr || offset < segment->begin || offset >= segment->end()) return 0;
  const size_t skip = static_cast<size_t>(offset - segment->begin);
  const size_t length = std::min(capacity, segment->frames.size() - skip);
  std::memcpy(to, segment->frames.data() + skip, length);
  return length;
}

void RecentFrames::Forget(uint64_t key) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (Find(key) != nullptr) segments_.pop_front();
}

}  // namespace durlog
