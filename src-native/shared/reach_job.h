// Waits until records have reached a level, and syncs for all members if none does.
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
  // Every record below `end` is to reach `level`. The walk starts at `from`. The job gives up after
  // `stall_ms` without progress by a living member.
  ReachJob(std::shared_ptr<Member> member, LogPoint from, uint64_t end, Level level,
           uint32_t stall_ms)
      : member_(std::move(member)),
        walk_(*member_, AtReserved::kStop, std::move(from)),
        end_(end),
        level_(level),
        stall_ms_(stall_ms) {}

  // Before it runs: the job syncs once even if every record has reached the level, because sealed
  // segments count as synced only after a sync.
  void SyncAnyway() { syncs_anyway_ = true; }
  // Before it runs: another job of this member runs first, and reports a stall for both.
  void Follow() { follows_ = true; }
  bool follows() const { return follows_; }
  // After done(). If a sync failed, the page says that the log is latched.
  const Status& status() const { return status_; }
  const LogPoint& point() const { return walk_.point(); }
  // The member because of which not every record has reached the level.
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
  Result<bool> AwaitSynced();
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
  // A living member has held up the job for too long.
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
