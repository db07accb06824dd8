// Takes segments off the front of a log that others may be writing.
#ifndef DURLOG_SHARED_SHARED_TRIM_JOB_H_
#define DURLOG_SHARED_SHARED_TRIM_JOB_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "base/job.h"
#include "shared/member.h"

namespace durlog {

// Removes whole segments below a seq, oldest first; never one that is appended to, or not synced.
// None is used again: a member that was stopped may still have it mapped.
class SharedTrimJob final : public Job {
 public:
  SharedTrimJob(std::shared_ptr<Member> member, uint64_t seq)
      : member_(std::move(member)), seq_(seq) {}
  // After done().
  const Status& status() const { return status_; }

 protected:
  void Run() override { status_ = Trim(); }

 private:
  Status Trim();
  Status TrimAlone();

  const std::shared_ptr<Member> member_;
  const uint64_t seq_;
  Status status_;
};

}  // namespace durlog

#endif  // DURLOG_SHARED_SHARED_TRIM_JOB_H_
