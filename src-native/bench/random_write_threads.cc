// One thread for each place in the queue. It allocates the cluster, if necessary, and then calls
// pwrite.
#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <thread>

#include "bench/random_engine.h"

namespace durlog::bench {

namespace {

struct Shared {
  Shared(const RandomWriteSpec& a_spec, int a_fd, RandomWriteResult* a_result)
      : spec(a_spec), fd(a_fd), result(a_result) {}

  const RandomWriteSpec& spec;
  const int fd;
  Clusters clusters{ClusterCount(spec), spec.cluster != "none"};
  AlignedBuffer zeros;
  AlignedBuffer block;
  uint64_t start_nanos = NowNanos();
  std::atomic<int> error{0};
  std::mutex mutex;  // guards `result`
  RandomWriteResult* const result;
};

int WriteAt(int fd, const uint8_t* from, uint64_t bytes, uint64_t offset) {
  const ssize_t written = pwrite(fd, from, bytes, static_cast<off_t>(offset));
  if (written < 0) return errno;
  return static_cast<uint64_t>(written) == bytes ? 0 : ENOSPC;
}

int AllocateCluster(const Shared& shared, uint64_t cluster) {
  const uint64_t offset = cluster * kClusterBytes;
  if (shared.spec.cluster == "zero") {
    return WriteAt(shared.fd, shared.zeros.data(), kClusterBytes, offset);
  }
  const int failed = fallocate(shared.fd, FALLOC_FL_ZERO_RANGE, static_cast<off_t>(offset),
                               static_cast<off_t>(kClusterBytes));
  return failed == 0 ? 0 : errno;
}

// 0 or errno; EAGAIN if another thread is allocating the cluster.
int WriteBlock(Shared* shared, uint64_t block) {
  const uint64_t cluster = block * kBlockBytes / kClusterBytes;
  const ClusterState state = shared->clusters.Claim(cluster);
  if (state == ClusterState::kAllocating) return EAGAIN;
  if (state == ClusterState::kEmpty) {
    const int error = AllocateCluster(*shared, cluster);
    shared->clusters.MarkReady(cluster);
    if (error != 0) return error;
  }
  return WriteAt(shared->fd, shared->block.data(), kBlockBytes, block * kBlockBytes);
}

void Work(Shared* shared, uint32_t number) {
  const uint64_t end = shared->start_nanos + uint64_t{shared->spec.millis} * 1000000;
  const uint64_t blocks = shared->spec.file_bytes / kBlockBytes;
  Random random(shared->spec.seed + number);
  Tally tally(shared->spec, shared->start_nanos);
  for (uint64_t begun = NowNanos(); begun < end && shared->error == 0;) {
    const int error = WriteBlock(shared, random.Below(blocks));
    const uint64_t ended = NowNanos();
    if (error == 0) {
      tally.Add(begun, ended);
    } else if (error != EAGAIN) {
      shared->error = error;
    }
    begun = ended;
  }
  const std::lock_guard<std::mutex> lock(shared->mutex);
  tally.MergeInto(shared->result);
}

}  // namespace

Status RunWithThreads(const RandomWriteSpec& spec, int fd, RandomWriteResult* result) {
  Shared shared(spec, fd, result);
  DURLOG_ASSIGN_OR_RETURN(shared.zeros, MakeZeroedBuffer(kClusterBytes));
  DURLOG_ASSIGN_OR_RETURN(shared.block, MakeZeroedBuffer(kBlockBytes));
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < spec.depth; ++i) threads.emplace_back(Work, &shared, i);
  for (std::thread& thread : threads) thread.join();
  const int error = shared.error;
  return error == 0 ? Status::Ok() : Status::System("pwrite", error, spec.path);
}

}  // namespace durlog::bench
