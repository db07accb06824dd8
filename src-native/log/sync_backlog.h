// Tracks the bytes that were written and that no sync has covered yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "segment/chunk.h"
#include "segment/segment.h"
#include "write/options.h"

namespace durlog {

// The part of one segment that a commit has to sync.
struct SyncTarget {
  std::shared_ptr<Segment> segment;
  uint64_t begin = 0;
  uint64_t end = 0;
  // If true, only the range is synced, through a map of it, and not the pages populated ahead,
  // which are dirty too. If false, the whole file is synced.
  bool range_only = false;
  // The parts of the segment that are mapped, in ascending order.
  std::vector<Chunk> maps;
  // The file is fsynced at every commit level, because nothing is written to it afterwards.
  bool full = false;
};

// Adds an fsync of `segment` to `targets`.
void AddFullTarget(const std::shared_ptr<Segment>& segment, std::vector<SyncTarget>* targets);

// Holds the ranges whose bytes are only in the page cache, and the full segments that were written
// to after their last fsync. Direct writes add no range, but the segments that they fill are added.
class SyncBacklog {
 public:
  void MarkDirty(const std::shared_ptr<Segment>& segment, uint64_t begin, uint64_t end) {
    if (dirty_.empty() || dirty_.back().segment != segment) {
      dirty_.push_back(DirtyRange{segment, begin, end});
    } else {
      dirty_.back().end = end;
    }
  }
  // Notes that no further record is added to `segment`.
  void Seal(std::shared_ptr<Segment> segment) { sealed_.push_back(std::move(segment)); }

  // The targets of a commit at `level`. At kSync and above they are the whole backlog.
  std::vector<SyncTarget> TargetsFor(Level level) const;
  // Removes targets that were synced at kSync or above.
  void Settle(const std::vector<SyncTarget>& targets);

  // Forgets the bytes of `segment` from `offset` on, which were rolled back.
  void Forget(const Segment* segment, uint64_t offset = 0);
  // Notes that appending continues in the segment `first_seq`: neither it nor a later one is
  // sealed.
  void Unseal(uint64_t first_seq);
  void Clear();

  // The number of segments with bytes that no sync has covered.
  size_t segment_count() const { return dirty_.size(); }
  // The length of their files, in all.
  uint64_t segment_bytes() const;
  // The first seq of the oldest segment in the backlog, or `otherwise` if that is lower.
  uint64_t OldestSegment(uint64_t otherwise) const;

 private:
  struct DirtyRange {
    std::shared_ptr<Segment> segment;
    uint64_t begin;
    uint64_t end;
  };

  std::deque<DirtyRange> dirty_;                 // oldest first
  std::deque<std::shared_ptr<Segment>> sealed_;  // oldest first
};

}  // namespace durlog
