// Makes the pages ahead of the append point present, so that a store is a store and not a page
// fault. Other members may be storing there: nothing is written.
#ifndef DURLOG_SHARED_POPULATE_JOB_H_
#define DURLOG_SHARED_POPULATE_JOB_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "base/job.h"
#include "shared/shared_segment.h"

namespace durlog {

class PopulateJob final : public Job {
 public:
  // `left` is the segment that the member has left since, if it has.
  PopulateJob(std::shared_ptr<SharedSegment> segment, uint64_t begin, uint64_t end, bool readahead,
              std::shared_ptr<SharedSegment> left)
      : segment_(std::move(segment)),
        begin_(begin),
        end_(end),
        readahead_(readahead),
        left_(std::move(left)) {}

 protected:
  // A page that cannot be had is met by the store.
  void Run() override {
    segment_->mapping().SetReadahead(readahead_);
    static_cast<void>(segment_->mapping()
                          .Populate(static_cast<size_t>(begin_), static_cast<size_t>(end_ - begin_))
                          .ok());
    segment_.reset();
    if (left_) left_->mapping().DropPages();
    left_.reset();
  }

 private:
  std::shared_ptr<SharedSegment> segment_;
  const uint64_t begin_;
  const uint64_t end_;
  const bool readahead_;
  std::shared_ptr<SharedSegment> left_;
};

}  // namespace durlog

#endif  // DURLOG_SHARED_POPULATE_JOB_H_
