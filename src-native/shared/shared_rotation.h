// The way of a member to the log's next segment.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/executor.h"
#include "base/status.h"
#include "platform/file_system.h"
#include "shared/member.h"
#include "shared/spare_making.h"
#include "write/options.h"

namespace durlog {

// A job makes the file of the next segment, the spare, in advance. A member that needs the segment
// gives the file its name, for all members.
class SharedRotation {
 public:
  // The arguments must outlive the rotation.
  SharedRotation(std::shared_ptr<Member> member, const Capabilities& capabilities,
                 const LogOptions& options)
      : member_(std::move(member)), capabilities_(capabilities), options_(options) {}
  void Attach(Executor* executor) { executor_ = executor; }
  // Waits for the running job.
  void Stop();

  // Whether a sync must come before the next segment is begun.
  bool TooMuchUnsynced() const;
  // Gives the segment after the one of `active` its name, which is `next`. kBackpressure while the
  // spare is being made.
  Status Rotate(uint64_t active, uint64_t next);
  // Requests the spare of the segment after the one of `active`, before an append needs it.
  void Prepare(uint64_t active) { Request(active, false); }
  void AwaitSpare() {
    if (job_) job_->Await();
  }
  // Handles the end of the job. Returns the process of the member for which the job of a waiting
  // append has waited too long; 0 if it is not known.
  std::optional<int64_t> Harvest();
  // Called after the appends that waited for the spare have been tried again.
  void ForgetFailure() {
    if (std::exchange(failure_seen_, false)) job_.reset();
  }

 private:
  void Request(uint64_t active, bool waits);
  Result<bool> GiveName(uint64_t first_seq);
  bool FitsNow(uint64_t base_time_ms) const;

  const std::shared_ptr<Member> member_;
  const Capabilities& capabilities_;
  const LogOptions& options_;
  Executor* executor_ = nullptr;
  std::shared_ptr<SharedSpareJob> job_;
  bool failure_seen_ = false;           // Harvest() has seen that job_ failed
  uint64_t requested_in_ = UINT64_MAX;  // the segment of the last request, by its first seq
  bool request_made_ = false;           // the spare existed at the last request
};

}  // namespace durlog
