// Removes the oldest segments of a log that other members may be writing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/job.h"
#include "shared/log_walk.h"
#include "shared/member.h"
#include "shared/stall.h"

namespace durlog {

// Removes whole segments below a seq, oldest first, and never the active one. Unsynced segments are
// synced first; if another member delays the sync for too long, the segments stay and the status is
// kStalled. No file is reused, because a stopped member may still have it mapped.
class SharedTrimJob final : public Job {
 public:
  SharedTrimJob(std::shared_ptr<Member> member, LogPoint committed, uint64_t seq, uint32_t stall_ms)
      : member_(std::move(member)),
        committed_(std::move(committed)),
        seq_(seq),
        stall_ms_(stall_ms) {}

  bool waits() const override { return true; }
  // After done(). kSyncFailed if the job has latched the log for all members.
  const Status& status() const { return status_; }
  // The member that caused the status kStalled.
  const std::optional<Stall>& stall() const { return stall_; }

 protected:
  void Run() override { status_ = Trim(); }

 private:
  Status Trim();
  Status SyncSealed();
  uint64_t SyncedFirst();
  Status RemoveSegments();

  const std::shared_ptr<Member> member_;
  const LogPoint committed_;
  const uint64_t seq_;
  const uint32_t stall_ms_;
  Status status_;
  std::optional<Stall> stall_;
};

}  // namespace durlog
