// What no sync has covered yet.
#ifndef DURLOG_LOG_SYNC_BACKLOG_H_
#define DURLOG_LOG_SYNC_BACKLOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "log/options.h"
#include "segment/chunk.h"
#include "segment/segment.h"

namespace durlog {

// What a commit's sync has to cover in one segment.
struct SyncTarget {
  std::shared_ptr<Segment> segment;
  uint64_t begin = 0;
  uint64_t end = 0;
  // The range alone is synced, through a map of it: not the pages populated ahead, which are dirty
  // too. Otherwise the whole file is.
  bool range_only = false;
  // Maps that together cover the range; none where it is not mapped any more.
  std::vector<Chunk> chunks;
  // An fsync whatever the commit's level is: nothing is written to the segment afterwards.
  bool full = false;
};

// Adds an fsync of `segment` to what a commit syncs.
void AddFullTarget(const std::shared_ptr<Segment>& segment, std::vector<SyncTarget>* targets);

// Ranges whose bytes are in the page cache only, and full segments that no fsync has covered since
// they were last written to. Direct writes never come here; the segments that they fill do.
class SyncBacklog {
 public:
  // Small segments may be more than a few.
  static constexpr size_t kMaxSegments = 64;

  void MarkDirty(const std::shared_ptr<Segment>& segment, uint64_t begin, uint64_t end) {
    if (dirty_.empty() || dirty_.back().segment != segment) {
      dirty_.push_back(DirtyRange{segment, begin, end});
    } else {
      dirty_.back().end = end;
    }
  }
  // No record is added to `segment` any more.
  void Seal(std::shared_ptr<Segment> segment) { sealed_.push_back(std::move(segment)); }

  // What a commit at `level` syncs; at kSync and above that is all of the backlog.
  std::vector<SyncTarget> TargetsFor(Level level) const;
  // They have been synced, at kSync or above.
  void Settle(const std::vector<SyncTarget>& targets);

  // Bytes that were taken back, from `offset` on or from the first.
  void Forget(const Segment* segment, uint64_t offset = 0);
  // Appending goes on in the segment `first_seq`: neither it nor a later one is sealed.
  void Unseal(uint64_t first_seq);
  void Clear();

  // More would be too much: it bounds the dirty page cache, the open files, and what the next open
  // has to scan.
  bool IsFull(uint64_t segment_bytes) const;
  // Segments with bytes that no sync has covered.
  size_t segment_count() const { return dirty_.size(); }
  // The first seq of the oldest segment in the backlog; `otherwise` where there is none.
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

#endif  // DURLOG_LOG_SYNC_BACKLOG_H_
