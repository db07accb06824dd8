// The operations of a log other than appends and rotation.
#include "log/log.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "record/segment_name.h"

namespace durlog {

void Log::Attach(Executor* executor, LogListener* listener) {
  executor_ = executor;
  chain_.Attach(listener);
  point_.Attach(executor);
  commits_.Attach(executor, listener);
}

void Log::Pump() {
  point_.time().Refresh();
  CheckFiles();
  live_.Ring();  // for records stored into a map since the last Pump()
  commits_.Pump();
}

void Log::Harvest() {
  commits_.Harvest();
  chain_.DropFailedSpare();
  FinishFilesCheck();
}

void Log::CheckFiles() {
  FinishFilesCheck();
  if (executor_ == nullptr || !state_.CheckFree().ok() || !files_.IsDue()) return;
  if (point_.maps() && point_.segment()->active()) {
    chain_.NoteEnd(*point_.segment(), point_.offset(), point_.last_frame());
  }
  HeldFiles held = chain_.Held();
  if (capabilities_.keeps_file_ids) held.folder = folder_id_;
  held.names.push_back({kLockName, lock_id_, 0});
  files_.Begin(*executor_, *directory_, std::move(held));
}

void Log::FinishFilesCheck() {
  const std::shared_ptr<FilesCheck> check = files_.TakeDone();
  if (!check || check->status().ok() || latched()) return;
  // The segment has been trimmed since the check began.
  if (check->changed_segment() && *check->changed_segment() < first_seq()) return;
  // Records that were stored may be lost with the file.
  static_cast<void>(commits_.Latch(check->status(), 0, point_.stored_end()));
}

Status Log::Sync(Level level) {
  DURLOG_RETURN_IF_ERROR(state_.CheckFree());
  return commits_.AwaitLevel(next_seq(), level);
}

void Log::RequestSync(Level level) {
  if (!latched()) commits_.Want(level, next_seq());
}

void Log::PrepareClose() {
  state_.BeginClose();
  RequestSync(Level::kSync);
}

std::shared_ptr<TrimJob> Log::BeginTrim(uint64_t seq) {
  // The active segment stays, and so does every segment that is not synced yet.
  std::shared_ptr<TrimJob> job =
      chain_.BeginTrim(seq, point_.oldest_unsynced(), policy_.Recycles(point_.mode()));
  // Published before the files are removed, so that no reader begins with them.
  if (job) live_.StoreFirstSeq(first_seq());
  return job;
}

void Log::FinishTrim(const TrimJob& job) {
  chain_.FinishTrim(job);
  live_.StoreFirstSeq(first_seq());
  if (job.status().code() != Code::kSyncFailed) return;
  // The failure may concern the name of a segment for which a commit syncs the folder after this,
  // and the system may report it only once.
  static_cast<void>(commits_.Latch(job.status(), 0, point_.stored_end()));
}

std::shared_ptr<RetentionJob> Log::BeginRetention(const RetentionPolicy& policy) {
  LogShape shape;
  shape.uuid = uuid_;
  shape.first_seqs = chain_.first_seqs();
  shape.next_seq = next_seq();
  shape.keep = point_.oldest_unsynced();
  shape.segment_bytes = options_.segment_bytes;
  if (!point_.at_segment_start()) shape.newest_ms = point_.newest_ms();
  std::shared_ptr<RetentionJob> job =
      retention_.MakeJob(file_system_, *directory_, std::move(shape), policy);
  chain_.Watch(job);
  return job;
}

Result<std::shared_ptr<TruncateJob>> Log::BeginTruncate(uint64_t next_seq) {
  DURLOG_RETURN_IF_ERROR(state_.CheckFree());
  // The remaining records must be durable when the cut is durable.
  DURLOG_RETURN_IF_ERROR(commits_.AwaitQuiet());
  const uint64_t end = point_.next_seq();
  if (next_seq < first_seq() || next_seq > end) {
    const auto seq_before = [](uint64_t seq) {
      return std::to_string(static_cast<int64_t>(seq) - 1);
    };
    return Status::Error(Code::kOutOfRange, "the log can be cut after seq " +
                                                seq_before(first_seq()) + " to " + seq_before(end) +
                                                "; got " + seq_before(next_seq));
  }
  DURLOG_RETURN_IF_ERROR(point_.Activate());
  state_.BeginExclusive();
  files_.Ignore();
  std::vector<std::shared_ptr<Segment>> held = chain_.LeftBefore(end);
  held.push_back(point_.segment());
  auto job = std::make_shared<TruncateJob>(*directory_, live_, point_.RetireMap(), std::move(held),
                                           chain_.first_seqs(), next_seq, end);
  chain_.Watch(job);
  return job;
}

Status Log::FinishTruncate(TruncateJob& job) {
  state_.EndExclusive();
  if (!job.status().ok() && !job.changed()) {
    commits_.PublishEnds();
    return job.status();
  }
  // Done after a failure too: with removed segments in the list, a later trim could remove the last
  // ones.
  chain_.Assign(job.segments());
  retention_.Forget();
  if (!job.status().ok()) {
    static_cast<void>(commits_.LatchHere(job.status()));
    return job.status();
  }
  std::shared_ptr<Segment> segment = job.TakeSegment();
  chain_.Hold(*segment, job.offset());
  point_.ResumeAfterCut({job.next_seq(), std::move(segment), job.offset(), job.last_time_ms()});
  commits_.Reset(/*end_stated=*/true);
  // The cut is announced again, because a reader may have opened a segment before its removal.
  live_.Cut(next_seq());
  commits_.PublishEnds();
  return Status::Ok();
}

LogStats Log::Stats() const {
  LogStats stats;
  stats.strategy = options_.strategy;
  stats.segment_bytes = options_.segment_bytes;
  stats.mode = point_.mode();
  stats.mode_switches = point_.mode_switches();
  stats.file_system = capabilities_.file_system;
  stats.reason = policy_.reason();
  stats.appended_records = appended_records_;
  stats.appended_bytes = appended_bytes_;
  chain_.Report(&stats);
  commits_.Report(&stats);
  return stats;
}

}  // namespace durlog
