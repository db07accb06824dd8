// Makes the pages ahead of the append point present, so that a store is a store and not a page
// fault. Other members may be storing there: nothing is written.
#ifndef DURLOG_SHARED_POPULATE_JOB_H_
#define DURLOG_SHARED_POPULATE_JOB_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/job.h"
#include "base/yield.h"
#include "shared/shared_segment.h"

namespace durlog {

class PopulateJob final : public Job {
 public:
  // Smaller ones are slower with the folios that readahead makes: see Mapping::SetReadahead().
  static constexpr uint64_t kBigSyncBytes = 1u << 20;

  // `beside_syncs`: many of them, of less than kBigSyncBytes. `left` is the segment that the member
  // has left since, if it has.
  PopulateJob(std::shared_ptr<SharedSegment> segment, uint64_t begin, uint64_t end,
              bool beside_syncs, std::shared_ptr<SharedSegment> left)
      : segment_(std::move(segment)),
        begin_(begin),
        end_(end),
        beside_syncs_(beside_syncs),
        left_(std::move(left)) {}

 protected:
  // A page that cannot be had is met by the store.
  void Run() override {
    const size_t begin = static_cast<size_t>(begin_);
    const size_t bytes = static_cast<size_t>(end_ - begin_);
    segment_->mapping().SetReadahead(!beside_syncs_);
    if (beside_syncs_) {
      Prefetch(begin, bytes);
    } else {
      static_cast<void>(segment_->mapping().Populate(begin, bytes).ok());
    }
    segment_.reset();
    if (left_) left_->DropBefore(left_->bytes());
    left_.reset();
  }

 private:
  // More at a time keeps the kernel's threads that end a sync waiting for a processor.
  static constexpr size_t kPieceBytes = 64u << 10;

  // Each member that populates a page pays for it anew, and one that syncs stores to few of them.
  void Prefetch(size_t begin, size_t bytes) {
    for (size_t at = 0; at < bytes && !cancelled(); at += kPieceBytes) {
      if (at > 0) YieldThread();
      segment_->mapping().Prefetch(begin + at, std::min(kPieceBytes, bytes - at));
    }
  }

  std::shared_ptr<SharedSegment> segment_;
  const uint64_t begin_;
  const uint64_t end_;
  const bool beside_syncs_;
  std::shared_ptr<SharedSegment> left_;
};

}  // namespace durlog

#endif  // DURLOG_SHARED_POPULATE_JOB_H_
