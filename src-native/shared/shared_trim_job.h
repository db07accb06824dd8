// Takes segments off the front of a log that others may be writing.
#ifndef DURLOG_SHARED_SHARED_TRIM_JOB_H_
#define DURLOG_SHARED_SHARED_TRIM_JOB_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "base/job.h"
#include "shared/committed_walk.h"
#include "shared/member.h"

namespace durlog {

// Removes whole segments below a seq, oldest first; never one that is appended to. What is not
// synced is synced first: where it cannot be, as another member holds it up, its segment stays, and
// the status is kStalled. None is used again: a member that was stopped may still have it mapped.
class SharedTrimJob final : public Job {
 public:
  SharedTrimJob(std::shared_ptr<Member> member, LogPoint committed, uint64_t seq, uint32_t stall_ms)
      : member_(std::move(member)),
        committed_(std::move(committed)),
        seq_(seq),
        stall_ms_(stall_ms) {}

  bool waits() const override { return true; }
  // After done().
  const Status& status() const { return status_; }

 protected:
  void Run() override { status_ = Trim(); }

 private:
  Status Trim();
  Status SyncSealed();
  uint64_t SyncedFirst();
  Status TrimAlone();

  const std::shared_ptr<Member> member_;
  const LogPoint committed_;
  const uint64_t seq_;
  const uint32_t stall_ms_;
  Status status_;
};

}  // namespace durlog

#endif  // DURLOG_SHARED_SHARED_TRIM_JOB_H_
