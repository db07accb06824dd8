// Seals a log's active segment before it is full.
#ifndef DURLOG_LOG_ROTATE_JOB_H_
#define DURLOG_LOG_ROTATE_JOB_H_

#include <memory>
#include <utility>

#include "base/job.h"
#include "platform/file_system.h"
#include "segment/segment.h"

namespace durlog {

// The sealed segment is synced, and then its successor gets its name, durably: from then on the
// sealed one may be trimmed, and a crash leaves the log with its seqs.
class RotateJob final : public Job {
 public:
  // Every record of `sealed` is synced, and nothing writes to it. `next` has not been activated;
  // with `maps`, records will be stored into what its spare has mapped.
  RotateJob(Directory& directory, std::shared_ptr<Segment> sealed, std::shared_ptr<Segment> next,
            bool maps)
      : directory_(directory), sealed_(std::move(sealed)), next_(std::move(next)), maps_(maps) {}

  // After done().
  const Status& status() const { return status_; }
  // Where status() is not OK: false if the log is as it was, and the rotation may be tried again.
  bool changed() const { return changed_; }
  // Where status() is OK, the segment that is appended to from now on.
  std::shared_ptr<Segment> TakeSegment() { return std::move(next_); }

 protected:
  void Run() override;

 private:
  Status Rotate();

  Directory& directory_;
  const std::shared_ptr<Segment> sealed_;
  std::shared_ptr<Segment> next_;
  const bool maps_;
  bool changed_ = false;
  Status status_;
};

}  // namespace durlog

#endif  // DURLOG_LOG_ROTATE_JOB_H_
