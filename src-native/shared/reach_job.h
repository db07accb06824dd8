// Waits until records have reached a level. If no other member is syncing, it syncs for all
// members.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/job.h"
#include "shared/log_walk.h"
#include "shared/member.h"
#include "shared/stall.h"
#include "write/options.h"

namespace durlog {

class ReachJob final : public Job {
 public:
  // Waits until every record below `end` has reached `level`. The walk starts at `from`. The job
  // gives up if a living member makes no progress for `stall_ms`.
  ReachJob(std::shared_ptr<Member> member, LogPoint from, uint64_t end, Level level,
           uint32_t stall_ms)
      : member_(std::move(member)),
        walk_(*member_, AtReserved::kStop, std::move(from)),
        end_(end),
        level_(level),
        stall_ms_(stall_ms) {}

  // Call it before the job runs. The job then syncs once even if every record has reached the
  // level, because sealed segments count as synced only after a sync.
  void SyncAnyway() { syncs_anyway_ = true; }
  // Call it before the job runs: another job of this member runs first and reports a stall for
  // both.
  void Follow() { follows_ = true; }
  bool follows() const { return follows_; }
  // After done(). kSyncFailed if the job has latched the log for all members. The job can be
  // repeated if it lacked descriptors or memory.
  const Status& status() const { return status_; }
  const LogPoint& point() const { return walk_.point(); }
  // The member because of which the job gave up, and the first record that waits for it.
  const std::optional<Stall>& stall() const { return stall_; }
  Level level() const { return level_; }
  // How long the job's last sync for all members took; 0 if it made none.
  uint64_t sync_micros() const { return sync_micros_; }

 protected:
  void Run() override { status_ = Reach(); }

 private:
  Status Reach();
  // False if the job was cancelled or has met a stall.
  Result<bool> AwaitCommitted();
  // OK also if the job was cancelled, has met a stall, or the log is latched.
  Status AwaitSynced();
  Status LatchAll(Status failure);
  Status StartWriteback();
  Status SyncForAll();
  Result<std::vector<std::shared_ptr<SharedSegment>>> UnsyncedBefore(uint64_t first_seq);
  Status SyncSegments(const std::vector<std::shared_ptr<SharedSegment>>& sealed,
                      const LogPoint& committed);
  Status CheckDevice(const std::vector<std::shared_ptr<SharedSegment>>& sealed,
                     const LogPoint& committed);
  bool IsReached();
  // Waits a little longer each time. False once the waits have taken `stall_ms`.
  bool Pause();
  // Notes that the job has waited too long for a living member.
  void NoteStall(int64_t pid, uint64_t seq);

  const std::shared_ptr<Member> member_;
  LogWalk walk_;
  const uint64_t end_;
  const Level level_;
  const uint32_t stall_ms_;
  bool syncs_anyway_ = false;
  bool follows_ = false;
  uint32_t pauses_ = 0;
  uint64_t paused_since_ = 0;  // in microseconds
  uint64_t sync_micros_ = 0;
  Status status_;
  std::optional<Stall> stall_;
};

}  // namespace durlog
