// Takes records off the end of a log.
#ifndef DURLOG_LOG_TRUNCATE_JOB_H_
#define DURLOG_LOG_TRUNCATE_JOB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/job.h"
#include "live/live_page_writer.h"
#include "segment/segment.h"

namespace durlog {

// Cuts a log so that `next_seq` is the next to be given out. Segments newer than the one that
// holds the cut go first, newest of all first: a crash leaves a log without its end.
class TruncateJob final : public Job {
 public:
  // `segments`: every first seq, ascending; the first is <= next_seq. `end` is the log's next seq.
  // The cut is announced in `live` before the files change; nothing else stores there meanwhile.
  // It is recorded for cursors and snapshots, durably, before that.
  TruncateJob(Directory& directory, LivePageWriter& live, std::vector<uint64_t> segments,
              uint64_t next_seq, uint64_t end)
      : directory_(directory),
        live_(live),
        segments_(std::move(segments)),
        next_seq_(next_seq),
        end_(end) {}

  // After done(). The cut is durable where status() is OK.
  const Status& status() const { return status_; }
  // Where status() is OK, the segment that is appended to from now on.
  std::shared_ptr<Segment> TakeSegment() { return std::move(segment_); }
  // Whether anything was changed; where not, a failure leaves the log as it was.
  bool changed() const { return changed_; }
  uint64_t offset() const { return offset_; }
  uint64_t next_seq() const { return next_seq_; }
  // Of the last record in front of the cut; 0 where it is in another segment.
  uint32_t last_time_ms() const { return last_time_ms_; }
  // Whether a marker in front of offset() says that what stays is synced.
  bool end_marked() const { return end_marked_; }
  // Segments left, ascending; also right after a failure.
  const std::vector<uint64_t>& segments() const { return segments_; }

 protected:
  void Run() override { status_ = Cut(); }

 private:
  Status Cut();
  Status FindOffset(File& file, const SegmentHeader& header, uint64_t first_seq);

  Directory& directory_;
  LivePageWriter& live_;
  std::vector<uint64_t> segments_;
  const uint64_t next_seq_;
  const uint64_t end_;
  std::shared_ptr<Segment> segment_;
  uint64_t offset_ = 0;
  std::optional<uint64_t> void_seq_;  // of the void at offset_ in which the cut falls
  uint32_t last_time_ms_ = 0;
  bool end_marked_ = false;
  bool changed_ = false;
  Status status_;
};

}  // namespace durlog

#endif  // DURLOG_LOG_TRUNCATE_JOB_H_
