// Populates the pages ahead of the append point, so that a store causes no page fault, or only a
// short one. Writes nothing, because other members may be storing there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/job.h"
#include "base/yield.h"
#include "shared/shared_segment.h"

namespace durlog {

// The bytes that were appended to the segment since the last populate job.
struct AppendedStretch {
  // Smaller syncs are slower with the folios that readahead makes: see Mapping::SetReadahead().
  static constexpr uint64_t kBigSyncBytes = 1u << 20;

  uint64_t bytes = 0;
  uint64_t own_bytes = 0;  // the part that this member has appended
  uint64_t syncs = 0;

  bool during_syncs() const { return syncs * kBigSyncBytes > bytes; }
  // Populating a page costs each member the same, even if another member has populated it before.
  bool mostly_own() const { return own_bytes * 2 > bytes; }
};

class PopulateJob final : public Job {
 public:
  // `left` is the segment that the member has left since the last job; null if it has left none.
  PopulateJob(std::shared_ptr<SharedSegment> segment, uint64_t begin, uint64_t end,
              const AppendedStretch& before, std::shared_ptr<SharedSegment> left)
      : segment_(std::move(segment)),
        begin_(begin),
        end_(end),
        before_(before),
        left_(std::move(left)) {}

 protected:
  // A failure is ignored: the store that needs the page reports it.
  void Run() override {
    const bool during_syncs = before_.during_syncs();
    Mapping& mapping = segment_->mapping();
    mapping.SetReadahead(!during_syncs);
    const uint64_t piece = during_syncs ? kPieceBytes : end_ - begin_;
    for (uint64_t at = begin_; at < end_ && !cancelled(); at += piece) {
      if (at > begin_) YieldThread();
      const size_t begin = static_cast<size_t>(at);
      const size_t bytes = static_cast<size_t>(std::min(piece, end_ - at));
      if (during_syncs) mapping.Prefetch(begin, bytes);
      if (during_syncs && !before_.mostly_own()) continue;
      static_cast<void>(mapping.Populate(begin, bytes));
    }
    segment_.reset();
    if (left_) left_->DropBefore(left_->bytes());
    left_.reset();
  }

 private:
  // Larger pieces make the kernel's threads that end a sync wait for a processor.
  static constexpr uint64_t kPieceBytes = 64u << 10;

  std::shared_ptr<SharedSegment> segment_;
  const uint64_t begin_;
  const uint64_t end_;
  const AppendedStretch before_;
  std::shared_ptr<SharedSegment> left_;
};

}  // namespace durlog
