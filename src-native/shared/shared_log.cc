// The operations of a member other than appends.
#include "shared/shared_log.h"

#include <optional>
#include <utility>

namespace durlog {

void SharedLog::Attach(Executor* executor, LogListener* listener) {
  executor_ = executor;
  listener_ = listener;
  commits_.Attach(executor, listener);
  rotation_.Attach(executor);
  pages_.Attach(executor);
}

void SharedLog::Look() {
  if (CatchUp().ok()) commits_.Refresh();
}

void SharedLog::RequestSync(Level level) {
  if (!latched()) commits_.Want(level, next_seq());
}

Status SharedLog::Sync(Level level) {
  DURLOG_RETURN_IF_ERROR(CatchUp());
  return commits_.AwaitLevel(next_seq(), level);
}

void SharedLog::Pump() {
  point_.clock().Refresh();
  // The appends that waited for the spare have been tried again since the last Harvest().
  rotation_.ForgetFailure();
  if (latched()) return;
  member_->live().Ring();
  CheckFiles();
  commits_.Pump();
}

void SharedLog::Harvest() {
  commits_.Harvest();
  if (const std::optional<int64_t> pid = rotation_.Harvest()) {
    commits_.NoteRoomStall(Stall{*pid, next_seq()});
  }
  FinishFilesCheck();
  static_cast<void>(commits_.CheckLatch());
}

void SharedLog::CheckFiles() {
  FinishFilesCheck();
  if (executor_ != nullptr && state_.CheckOpen().ok() && files_.IsDue()) {
    files_.Begin(*executor_, commits_.committed());
  }
}

// What this member has found holds for the others too: none of them may acknowledge a record.
void SharedLog::FinishFilesCheck() {
  Status changed = files_.TakeFailure();
  if (changed.ok() || latched()) return;
  member_->page().Raise(PageWord::kLatched, 1);
  commits_.Latch(std::move(changed));
}

void SharedLog::PrepareClose() {
  state_.BeginClose();
  commits_.BeginClose();
}

std::shared_ptr<SharedTrimJob> SharedLog::BeginTrim(uint64_t seq) {
  auto job = std::make_shared<SharedTrimJob>(member_, commits_.committed(), seq, options_.stall_ms);
  trims_.Add(job);
  return job;
}

Status SharedLog::FinishTrim(const SharedTrimJob& trim) {
  if (trim.stall()) listener_->OnStalled(trim.stall()->pid, trim.stall()->seq, false);
  if (trim.status().code() == Code::kSyncFailed) commits_.Latch(trim.status());
  return trim.status();
}

LogStats SharedLog::Stats() const {
  LogStats stats;
  stats.commits = commits_.count();
  stats.rotations = rotations_;
  stats.strategy = options_.strategy;
  stats.mode = WriteMode::kMmap;
  stats.preallocated =
      options_.preallocation_auto ? Preallocation::kFallocate : options_.preallocation;
  stats.file_system = capabilities_.file_system;
  stats.reason = "several writers store into one map";
  stats.segment_bytes = options_.segment_bytes;
  return stats;
}

}  // namespace durlog
