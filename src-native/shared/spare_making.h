// Makes the file that becomes the next segment, for all members.
#ifndef DURLOG_SHARED_SPARE_MAKING_H_
#define DURLOG_SHARED_SPARE_MAKING_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/job.h"
#include "segment/segment.h"
#include "shared/member.h"

namespace durlog {

// The header of a segment that several writers append to.
SegmentHeader SharedHeader(FileSystem& file_system, const LogUuid& uuid, uint64_t base_time_ms,
                           uint64_t segment_bytes);
// A file with that header, which has all of its blocks. kUnsupported where they cannot be had.
Result<Spare> MakeSharedSpare(Directory& directory, const SegmentHeader& header,
                              const SpareRequest& request, uint64_t nonce);

class SharedSpareJob final : public Job {
 public:
  // Unless `waits`, it is another member's if another one is at it.
  SharedSpareJob(std::shared_ptr<Member> member, const SpareRequest& request,
                 const SegmentHeader& header, bool waits)
      : member_(std::move(member)), request_(request), header_(header), waits_(waits) {}

  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  // After done().
  const Status& status() const { return status_; }

 protected:
  void Run() override { status_ = Make(); }

 private:
  Status Make();
  Status MakeAlone();

  const std::shared_ptr<Member> member_;
  const SpareRequest request_;
  const SegmentHeader header_;
  const bool waits_;
  std::atomic<bool> cancelled_{false};
  Status status_;
};

}  // namespace durlog

#endif  // DURLOG_SHARED_SPARE_MAKING_H_
