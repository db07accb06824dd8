// Seals a log's active segment before it is full.
#pragma once

#include <memory>
#include <utility>

#include "base/job.h"
#include "platform/file_system.h"
#include "segment/mapped_tail.h"
#include "segment/segment.h"

namespace durlog {

// Syncs the sealed segment, and then durably names its successor. After that the sealed segment may
// be trimmed, and after a crash the log continues with the same seqs.
class RotateJob final : public Job {
 public:
  // Requires that every record of `sealed` is synced, that nothing writes to it, and that `next`
  // has not been activated. `tail` is the map of `sealed`, or null.
  RotateJob(Directory& directory, std::shared_ptr<Segment> sealed, std::unique_ptr<MappedTail> tail,
            std::shared_ptr<Segment> next)
      : directory_(directory),
        sealed_(std::move(sealed)),
        tail_(std::move(tail)),
        next_(std::move(next)) {}

  // After done().
  const Status& status() const { return status_; }
  // If status() is not OK: false if the log is unchanged and the rotation may be tried again.
  bool changed() const { return changed_; }
  // If status() is OK, the segment that is appended to from now on.
  std::shared_ptr<Segment> TakeSegment() { return std::move(next_); }

 protected:
  void Run() override;

 private:
  Status Rotate();

  Directory& directory_;
  const std::shared_ptr<Segment> sealed_;
  std::unique_ptr<MappedTail> tail_;
  std::shared_ptr<Segment> next_;
  bool changed_ = false;
  Status status_;
};

}  // namespace durlog
