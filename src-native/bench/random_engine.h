// The common part of both engines of the random-write suite: the choice of the next block, the
// state of the clusters, and the counters.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "bench/clock.h"
#include "bench/random_write.h"
#include "bench/scratch_file.h"

namespace durlog::bench {

// xorshift64*: a few instructions, and good enough to scatter writes.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u | 1) {}
  uint64_t Below(uint64_t limit) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return (state_ * 0x2545F4914F6CDD1Du >> 16) % limit;
  }

 private:
  uint64_t state_;
};

enum class ClusterState : uint8_t { kEmpty, kAllocating, kReady };

// Thread-safe: exactly one caller is asked to allocate a cluster.
class Clusters {
 public:
  Clusters(uint64_t count, bool allocate);
  // kEmpty: the caller must allocate it now. kAllocating: another thread does; pick another
  // cluster.
  ClusterState Claim(uint64_t cluster);
  void MarkReady(uint64_t cluster);

 private:
  std::unique_ptr<std::atomic<ClusterState>[]> states_;
};

// Counts the finished writes of each interval and keeps latencies. Each thread has one.
class Tally {
 public:
  Tally(const RandomWriteSpec& spec, uint64_t start_nanos);
  void Add(uint64_t begun_nanos, uint64_t ended_nanos);
  void MergeInto(RandomWriteResult* result) const;

 private:
  uint64_t start_nanos_;
  uint64_t interval_nanos_;
  uint64_t max_latencies_;
  RandomWriteResult result_;
};

uint64_t ClusterCount(const RandomWriteSpec& spec);

Status RunWithIoUring(const RandomWriteSpec& spec, int fd, RandomWriteResult* result);
Status RunWithThreads(const RandomWriteSpec& spec, int fd, RandomWriteResult* result);

}  // namespace durlog::bench
