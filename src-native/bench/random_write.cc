#include "bench/random_write.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "bench/random_engine.h"

namespace durlog::bench {

namespace {

// As PrepareFile, but sets the hint while the file is still empty, because XFS accepts it only
// then.
Status PrepareTarget(const RandomWriteSpec& spec) {
  if (spec.extent_hint_bytes == 0) {
    return PrepareFile(spec.path, spec.preallocate, spec.file_bytes);
  }
  if (spec.preallocate != "sparse") {
    return Status::Error(Code::kInvalidArgument, "the extent size hint goes with a sparse file");
  }
  DURLOG_RETURN_IF_ERROR(PrepareFile(spec.path, "none", 0));
  DURLOG_ASSIGN_OR_RETURN(ScopedFd file, OpenFile(spec.path, O_RDWR));
  DURLOG_RETURN_IF_ERROR(SetExtentSizeHint(file.get(), spec.extent_hint_bytes, spec.path));
  if (ftruncate(file.get(), static_cast<off_t>(spec.file_bytes)) == 0) return Status::Ok();
  return Status::System("ftruncate", errno, spec.path);
}

}  // namespace

Clusters::Clusters(uint64_t count, bool allocate)
    : states_(std::make_unique<std::atomic<ClusterState>[]>(count)) {
  const ClusterState initial = allocate ? ClusterState::kEmpty : ClusterState::kReady;
  for (uint64_t i = 0; i < count; ++i) states_[i].store(initial, std::memory_order_relaxed);
}

ClusterState Clusters::Claim(uint64_t cluster) {
  ClusterState state = ClusterState::kEmpty;
  states_[cluster].compare_exchange_strong(state, ClusterState::kAllocating,
                                           std::memory_order_acq_rel);
  return state;
}

void Clusters::MarkReady(uint64_t cluster) {
  states_[cluster].store(ClusterState::kReady, std::memory_order_release);
}

Tally::Tally(const RandomWriteSpec& spec, uint64_t start_nanos)
    : start_nanos_(start_nanos),
      interval_nanos_(uint64_t{spec.interval_millis} * 1000000),
      max_latencies_(spec.engine == "threads" ? kMaxLatencies / spec.depth : kMaxLatencies) {
  result_.writes.resize((spec.millis + spec.interval_millis - 1) / spec.interval_millis);
}

void Tally::Add(uint64_t begun_nanos, uint64_t ended_nanos) {
  const uint64_t interval = (ended_nanos - start_nanos_) / interval_nanos_;
  if (interval < result_.writes.size()) result_.writes[interval] += 1;
  if (result_.latency_us.size() >= max_latencies_) return;
  result_.latency_us.push_back(static_cast<double>(ended_nanos - begun_nanos) / 1000.0);
}

void Tally::MergeInto(RandomWriteResult* result) const {
  result->writes.resize(result_.writes.size());
  std::transform(result_.writes.begin(), result_.writes.end(), result->writes.begin(),
                 result->writes.begin(), [](double mine, double theirs) { return mine + theirs; });
  result->latency_us.insert(result->latency_us.end(), result_.latency_us.begin(),
                            result_.latency_us.end());
}

uint64_t ClusterCount(const RandomWriteSpec& spec) { return spec.file_bytes / kClusterBytes; }

Result<RandomWriteResult> RunRandomWrite(const RandomWriteSpec& spec) {
  DURLOG_RETURN_IF_ERROR(PrepareTarget(spec));
  DURLOG_ASSIGN_OR_RETURN(ScopedFd file, OpenFile(spec.path, O_RDWR | O_DIRECT));
  RandomWriteResult result;
  DURLOG_RETURN_IF_ERROR(spec.engine == "threads" ? RunWithThreads(spec, file.get(), &result)
                                                  : RunWithIoUring(spec, file.get(), &result));
  return result;
}

}  // namespace durlog::bench
