// Removes records from the end of a log.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/job.h"
#include "live/live_page_writer.h"
#include "segment/mapped_tail.h"
#include "segment/segment.h"

namespace durlog {

// Cuts a log so that the next append gets `next_seq`. Removes the segments newer than the one that
// holds the cut first, from the newest on, so that a crash leaves a log that only lacks its end.
class TruncateJob final : public Job {
 public:
  // `segments` holds every first seq, ascending; the first is <= next_seq. `end` is the log's next
  // seq. The cut is first recorded durably for cursors and snapshots, then announced in `live`, and
  // then the files change. The caller must not store into `live` during the job.
  // `tail` is the map of the newest segment, or null; `held` are that segment and those that a
  // worker may still fill.
  TruncateJob(Directory& directory, LivePageWriter& live, std::unique_ptr<MappedTail> tail,
              std::vector<std::shared_ptr<Segment>> held, std::vector<uint64_t> segments,
              uint64_t next_seq, uint64_t end)
      : directory_(directory),
        live_(live),
        tail_(std::move(tail)),
        held_(std::move(held)),
        segments_(std::move(segments)),
        next_seq_(next_seq),
        end_(end) {}

  // After done(). The cut is durable if status() is OK.
  const Status& status() const { return status_; }
  // If status() is OK, the segment that is appended to from now on.
  std::shared_ptr<Segment> TakeSegment() { return std::move(segment_); }
  // Whether anything was changed. If not, a failure leaves the log unchanged.
  bool changed() const { return changed_; }
  uint64_t offset() const { return offset_; }
  uint64_t next_seq() const { return next_seq_; }
  // The time of the last record before the cut; 0 if that record is in another segment.
  uint32_t last_time_ms() const { return last_time_ms_; }
  // The first seqs of the remaining segments, ascending; also correct after a failure.
  const std::vector<uint64_t>& segments() const { return segments_; }

 protected:
  void Run() override;

 private:
  Status Cut();
  Status FindOffset(File& file, const SegmentHeader& header, uint64_t first_seq);

  Directory& directory_;
  LivePageWriter& live_;
  std::unique_ptr<MappedTail> tail_;
  std::vector<std::shared_ptr<Segment>> held_;
  std::vector<uint64_t> segments_;
  const uint64_t next_seq_;
  const uint64_t end_;
  std::shared_ptr<Segment> segment_;
  uint64_t offset_ = 0;
  std::optional<uint64_t> void_seq_;  // if the cut is inside a void: that void's seq
  uint32_t last_time_ms_ = 0;
  bool changed_ = false;
  Status status_;
};

}  // namespace durlog
