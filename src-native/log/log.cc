// The operations of a log other than appends: sync, trim, retention, truncation and close.
#include "log/log.h"

#include <string>
#include <utility>
#include <vector>

#include "read/position_index.h"

namespace durlog {
namespace {

constexpr uint64_t kMicrosPerMs = 1000;

}  // namespace

void Log::Attach(Executor* executor, LogListener* listener) {
  executor_ = executor;
  listener_ = listener;
}

Log::~Log() {
  if (!commit_) return;
  commit_->Await();
  commit_->Release();
}

void Log::RequestSync(Level level) {
  if (!latched_ && next_seq_ > 0) acks_.Want(level, next_seq_);
}

void Log::PrepareClose() {
  closing_ = true;
  if (!latched_) acks_.Want(Level::kSync, next_seq_);
}

std::shared_ptr<TrimJob> Log::BeginTrim(uint64_t seq) {
  // The active segment stays, and so does every segment that is not synced yet.
  const uint64_t keep = backlog_.OldestSegment(active_->first_seq());
  std::vector<TrimJob::Item> items = chain_.ItemsBelow(seq, keep, policy_.Recycles(mode_));
  if (items.empty()) return nullptr;
  // Published before the files are removed, so that no reader begins with them.
  trimming_to_ = chain_.first_seqs()[items.size()];
  live_.StoreFirstSeq(trimming_to_);
  auto job = std::make_shared<TrimJob>(*directory_, std::move(items), options_.segment_bytes);
  chain_.Watch(job);
  return job;
}

void Log::FinishTrim(const TrimJob& job) {
  trimming_to_ = 0;
  const uint64_t first_seq_before = chain_.first_seqs().front();
  chain_.FinishTrim(job);
  stats_.trimmed_records += first_seq() - first_seq_before;
  stats_.trimmed_bytes += job.trimmed_bytes();
  live_.StoreFirstSeq(first_seq());
}

std::shared_ptr<RetentionJob> Log::BeginRetention(const RetentionPolicy& policy) {
  LogShape shape;
  shape.uuid = uuid_;
  shape.first_seqs = chain_.first_seqs();
  shape.next_seq = next_seq_;
  shape.keep = backlog_.OldestSegment(active_->first_seq());
  shape.segment_bytes = options_.segment_bytes;
  shape.sealed.swap(sealed_);
  if (active_->first_seq() < next_seq_) {
    shape.newest_ms = active_->header().base_time_ms + last_time_ms_;
  }
  if (!survey_) survey_ = std::make_shared<SegmentSurvey>(*directory_);
  auto job = std::make_shared<RetentionJob>(file_system_, *directory_, std::move(shape), policy,
                                            survey_, cursor_syncs_);
  chain_.Watch(job);
  return job;
}

// Checks that a job may start that has the log's files to itself.
Status Log::CheckExclusive() const {
  if (latched_) return LatchedError();
  if (closing_) return Status::Error(Code::kClosed, "the log is closed");
  if (!exclusive_) return Status::Ok();
  return Status::Error(Code::kBackpressure, "a truncation or a rotation is running");
}

Result<std::shared_ptr<TruncateJob>> Log::BeginTruncate(uint64_t next_seq) {
  DURLOG_RETURN_IF_ERROR(CheckExclusive());
  if (next_seq < first_seq() || next_seq > next_seq_) {
    return Status::Error(Code::kOutOfRange, "the log holds seq " + std::to_string(first_seq()) +
                                                " to " + std::to_string(next_seq_) +
                                                " (exclusive)");
  }
  // The remaining records have to be durable when the cut is.
  if (next_seq_ > first_seq()) DURLOG_RETURN_IF_ERROR(AwaitLevel(next_seq_ - 1, Level::kSync));
  DURLOG_RETURN_IF_ERROR(ActivateHere());
  exclusive_ = true;
  tail_.reset();
  if (left_run_) left_run_->Await();
  auto job =
      std::make_shared<TruncateJob>(*directory_, live_, chain_.first_seqs(), next_seq, next_seq_);
  chain_.Watch(job);
  return job;
}

Status Log::FinishTruncate(TruncateJob& job) {
  exclusive_ = false;
  // Done after a failure too: with removed segments in the list, a later trim could remove the last
  // ones.
  chain_.Assign(job.segments());
  survey_.reset();
  sealed_.clear();
  if (!job.status().ok()) {
    if (job.changed()) Latch(job.status(), next_seq_, next_seq_);
    if (!job.changed()) PublishEnds();
    return job.status();
  }
  next_seq_ = job.next_seq();
  ResumeAt(job.TakeSegment(), job.offset(), job.last_time_ms());
  backlog_.Clear();
  PositionIndex::Shared().ForgetBehind(active_->header().salt, next_seq_);
  acks_.Reset(next_seq_);
  end_marked_ = job.end_marked();
  // Announced again, because a reader may have opened a segment before it was removed.
  live_.Cut(next_seq_);
  PublishEnds();
  return Status::Ok();
}

LogStats Log::Stats() const {
  LogStats stats = stats_;
  stats.strategy = options_.strategy;
  stats.mode = mode_;
  stats.file_system = capabilities_.file_system;
  stats.reason = policy_.reason();
  stats.segments = chain_.first_seqs().size();
  stats.recycled = chain_.recycled();
  stats.segment_bytes = options_.segment_bytes;
  const uint64_t now_micros = file_system_.MonotonicMicros();
  if (last_commit_ended_micros_ > 0) {
    stats.last_commit_ms =
        file_system_.NowMs() - (now_micros - last_commit_ended_micros_) / kMicrosPerMs;
  }
  stats.commit_micros = {commit_micros_.all(), commit_micros_.LastMinute(now_micros)};
  stats.commit_records = {commit_records_.all(), commit_records_.LastMinute(now_micros)};
  return stats;
}

}  // namespace durlog
