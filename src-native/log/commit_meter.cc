#include "log/commit_meter.h"

namespace durlog {
namespace {

constexpr uint64_t kMicrosPerMs = 1000;

}  // namespace

void CommitMeter::Measure(const StagedGroup& group, uint64_t micros, uint64_t ended_micros) {
  last_ended_micros_ = ended_micros;
  commit_micros_.Record(micros, ended_micros);
  commit_records_.Record(group.end_seq - group.start.seq, ended_micros);
}

void CommitMeter::Report(FileSystem& file_system, LogStats* stats) const {
  const uint64_t now_micros = file_system.MonotonicMicros();
  stats->commits = commits_;
  stats->committed_records = records_;
  stats->committed_bytes = bytes_;
  if (last_ended_micros_ > 0) {
    stats->last_commit_ms = file_system.NowMs() - (now_micros - last_ended_micros_) / kMicrosPerMs;
  }
  stats->commit_micros = {commit_micros_.all(), commit_micros_.LastMinute(now_micros)};
  stats->commit_records = {commit_records_.all(), commit_records_.LastMinute(now_micros)};
}

}  // namespace durlog
