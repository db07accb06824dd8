// Waits until records have reached a level, and syncs for all members if none does.
#ifndef DURLOG_SHARED_REACH_JOB_H_
#define DURLOG_SHARED_REACH_JOB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/job.h"
#include "log/options.h"
#include "shared/committed_walk.h"
#include "shared/member.h"
#include "shared/stall.h"

namespace durlog {

class ReachJob final : public Job {
 public:
  // Every record below `end` is to reach `level`. The walk goes on from `from`. Gives up after
  // `stall_ms` without progress by a living member.
  ReachJob(std::shared_ptr<Member> member, LogPoint from, uint64_t end, Level level,
           uint32_t stall_ms)
      : member_(std::move(member)),
        walk_(*member_, std::move(from)),
        end_(end),
        level_(level),
        stall_ms_(stall_ms) {}

  // Syncs once also where every record has reached the level: what is sealed counts as synced only
  // then. Before it runs.
  void SyncAnyway() { syncs_anyway_ = true; }
  // It waits behind another job of this member, which tells of a stall. Before it runs.
  void Follow() { follows_ = true; }
  bool follows() const { return follows_; }
  // After done(). kSyncFailed where a sync failed: then the page says that the log is latched.
  const Status& status() const { return status_; }
  const LogPoint& point() const { return walk_.point(); }
  // Why not every record has reached the level, where no failure is the reason.
  const std::optional<Stall>& stall() const { return stall_; }
  Level level() const { return level_; }

 protected:
  void Run() override { status_ = Reach(); }

 private:
  Status Reach();
  // False where it was cancelled, or has met a stall.
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
  // Waits a little longer each time. False once it is enough.
  bool Pause();
  // A member that lives is in the way for too long.
  void NoteStall(int64_t pid, uint64_t seq);

  const std::shared_ptr<Member> member_;
  CommittedWalk walk_;
  const uint64_t end_;
  const Level level_;
  const uint32_t stall_ms_;
  bool syncs_anyway_ = false;
  bool follows_ = false;
  uint32_t pauses_ = 0;
  uint64_t paused_since_ = 0;  // in microseconds
  Status status_;
  std::optional<Stall> stall_;
};

}  // namespace durlog

#endif  // DURLOG_SHARED_REACH_JOB_H_
