// Random O_DIRECT writes of 4 KiB at a given queue depth, into files whose blocks were allocated in
// different ways. This measures the cost of writes to a disk image, a database file or a log's
// recycled segment while the file fills up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace durlog::bench {

struct RandomWriteSpec {
  std::string path;
  // The state of the file before the run: sparse, fallocate or data (all blocks written); see
  // PrepareFile.
  std::string preallocate = "sparse";
  // The allocation before the first write to each 64 KiB cluster: none, zero-range
  // (FALLOC_FL_ZERO_RANGE) or zero (64 KiB of zeros are written).
  std::string cluster = "none";
  std::string engine = "io_uring";  // or threads
  uint64_t file_bytes = 0;          // a multiple of kClusterBytes
  uint32_t depth = 32;
  uint32_t extent_hint_bytes = 0;  // FS_XFLAG_EXTSIZE; 0: no hint
  uint32_t millis = 1000;
  uint32_t interval_millis = 100;
  uint64_t seed = 1;
};

struct RandomWriteResult {
  std::vector<double> writes;      // 4 KiB writes finished in each interval
  std::vector<double> latency_us;  // of at most kMaxLatencies writes, including the allocation
};

inline constexpr uint64_t kClusterBytes = 64 * 1024;
inline constexpr uint64_t kMaxLatencies = 200000;

// Prepares the file (untimed) and runs for `millis`. Blocks this thread.
Result<RandomWriteResult> RunRandomWrite(const RandomWriteSpec& spec);

}  // namespace durlog::bench
