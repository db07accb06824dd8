// The pages ahead of a member's append point, which jobs populate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/executor.h"
#include "shared/log_walk.h"
#include "shared/populate_job.h"

namespace durlog {

class PagesAhead {
 public:
  void Attach(Executor* executor) { executor_ = executor; }
  // Waits for the running job.
  void Stop() {
    if (!job_) return;
    job_->Cancel();
    job_->Await();
  }

  // The segment whose pages are populated.
  const std::shared_ptr<SharedSegment>& segment() const { return segment_; }
  // Populates from `point` on. `syncs`: how often this member has synced.
  void Enter(const LogPoint& point, uint64_t syncs) {
    left_ = std::exchange(segment_, point.segment);
    populated_until_ = stretch_from_ = point.offset;
    own_bytes_ = 0;
    syncs_ = syncs;
  }
  // Called after each append, of frames of `bytes`.
  void NoteAppended(const LogPoint& point, uint64_t bytes, uint64_t syncs) {
    own_bytes_ += bytes;
    // Populates little at first, for logs of a few records.
    const uint64_t ahead = std::min(kPopulateBytes, std::max(point.offset, kFirstPopulateBytes));
    if (point.offset + ahead / 2 > populated_until_) Populate(point, ahead, syncs);
  }

 private:
  // How far ahead of the append point pages are populated, and how many by one job.
  static constexpr uint64_t kPopulateBytes = 4u << 20;
  static constexpr uint64_t kFirstPopulateBytes = 128u << 10;

  void Populate(const LogPoint& point, uint64_t ahead, uint64_t syncs) {
    const uint64_t end = segment_->bytes();
    if (populated_until_ >= end || (job_ && !job_->done())) return;
    const uint64_t begin = AlignDown(std::max(populated_until_, point.offset), kSegmentHeaderBytes);
    populated_until_ = std::min(begin + ahead, end);
    AppendedStretch stretch;
    stretch.bytes = point.offset - std::exchange(stretch_from_, point.offset);
    stretch.own_bytes = std::exchange(own_bytes_, 0);
    stretch.syncs = syncs - std::exchange(syncs_, syncs);
    job_ = std::make_shared<PopulateJob>(segment_, begin, populated_until_, stretch,
                                         std::exchange(left_, nullptr));
    executor_->Execute(job_);
  }

  Executor* executor_ = nullptr;
  std::shared_ptr<PopulateJob> job_;
  std::shared_ptr<SharedSegment> segment_;
  std::shared_ptr<SharedSegment> left_;  // the previous segment, while its map is populated
  uint64_t populated_until_ = 0;         // an offset in the segment
  uint64_t stretch_from_ = 0;            // the append point at the last job
  uint64_t own_bytes_ = 0;               // appended by this member since the last job
  uint64_t syncs_ = 0;                   // at the last job
};

}  // namespace durlog
