// Makes the file that becomes the next segment, for all members, and opens it for this one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/job.h"
#include "segment/segment.h"
#include "shared/member.h"

namespace durlog {

// The header of a segment that several writers append to.
SegmentHeader SharedHeader(FileSystem& file_system, const LogUuid& uuid, uint64_t base_time_ms,
                           uint64_t segment_bytes);
// Makes a file with that header and all of its blocks. kUnsupported if the blocks cannot be
// allocated.
Result<Spare> MakeSharedSpare(Directory& directory, const SegmentHeader& header,
                              const SpareRequest& request, const std::string& name);

class SharedSpareJob final : public Job {
 public:
  // If another member is making the file or giving it its name, the job waits for that member for
  // at most `stall_ms`. With 0, it does not wait and leaves the file to that member.
  SharedSpareJob(std::shared_ptr<Member> member, const SpareRequest& request,
                 const SegmentHeader& header, uint32_t stall_ms)
      : member_(std::move(member)), request_(request), header_(header), stall_ms_(stall_ms) {}

  // After done().
  const Status& status() const { return status_; }
  bool failed() const { return done() && !status_.ok(); }
  // True if an append waits for the job. The append fails if the job fails.
  bool waits() const override { return stall_ms_ > 0; }
  // The process of the member for which the job has waited too long; 0 if it is not known.
  std::optional<int64_t> TakeStalledPid() { return std::exchange(stalled_pid_, std::nullopt); }

 protected:
  void Run() override { status_ = Make(); }

 private:
  Status Make();
  Result<bool> TryMake();

  const std::shared_ptr<Member> member_;
  const SpareRequest request_;
  const SegmentHeader header_;
  const uint32_t stall_ms_;
  Status status_;
  std::optional<int64_t> stalled_pid_;
};

}  // namespace durlog
