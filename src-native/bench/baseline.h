// The methods that durlog is compared with: each appends numbered records to one file by raw system
// calls and measures the time of each record. The code uses neither Node nor durlog's own writers,
// so the figures of a Baseline contain only the time of the kernel and of the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace durlog::bench {

// The measurement to make. The strings come from bench/harness/baselines.ts.
struct Spec {
  std::string path;         // created and emptied by Prepare unless `shared`
  std::string method;       // see MakeBaseline
  std::string preallocate;  // see PrepareFile
  uint64_t record_bytes = 0;
  // If the next record would end after this offset, the writer starts again at the beginning of the
  // file. This is not timed.
  uint64_t file_bytes = 0;
  // The number of records that are timed together: a latency is their mean. Reading the clock takes
  // as long as storing a small record to memory.
  uint64_t records_per_sample = 1;
  // Records between two syncs; 0: one sync at the end of each Run, as part of its last sample.
  uint64_t sync_every = 1;
  // The writer's number, which each record contains; below kMaxWriters.
  uint32_t writer = 0;
  // True if several processes append to one file, which PrepareFile has made.
  bool shared = false;
};

// One method on one file. Used by one thread at a time.
class Baseline {
 public:
  virtual ~Baseline() = default;
  // Opens and preallocates the file. Must be called once, before Run.
  virtual Status Prepare() = 0;
  // Appends `samples` * records_per_sample records. `latency_us[i]` is microseconds for each
  // record, timed on CLOCK_MONOTONIC around the calls alone.
  virtual Status Run(uint64_t samples, double* latency_us) = 0;
  // Writes the records that are still in this process (stdio's buffer, submitted AIO) and closes.
  virtual Status Finish() = 0;
};

// Methods: direct-dsync, direct-dsync-handed, direct, pwrite, pwrite-range, pwrite-fdatasync,
// pwrite-fsync, mmap, mmap-populated, mmap-msync, mmap-msync-async, write-append, writev-append,
// stdio-flush, stdio, aio-append, direct-append. Null for any other name.
std::unique_ptr<Baseline> MakeBaseline(const Spec& spec);

}  // namespace durlog::bench
