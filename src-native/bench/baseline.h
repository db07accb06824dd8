// The raw system calls that durlog is measured against, each as a small machine that appends
// numbered records to one file and measures how long each took. Nothing here knows of Node or of
// durlog's own writers: a figure of a Baseline is what the kernel and the disk take, and no more.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace durlog::bench {

// What to measure; the strings are those of the JS side (bench/harness/baselines.ts).
struct Spec {
  std::string path;         // created and emptied by Prepare unless `shared`
  std::string method;       // see MakeBaseline
  std::string preallocate;  // see PrepareFile
  uint64_t record_bytes = 0;
  // The file starts over (untimed) when the next record would pass this.
  uint64_t file_bytes = 0;
  // One latency is the mean over so many records: the clock costs as much as a store to memory.
  uint64_t records_per_sample = 1;
  // Records between two syncs; 0 is one sync at the end of each Run, within its last sample.
  uint64_t sync_every = 1;
  // Stamped into each record, below kMaxWriters.
  uint32_t writer = 0;
  // Several processes append to one file that PrepareFile has made before.
  bool shared = false;
};

// One method on one file. Used by one thread at a time.
class Baseline {
 public:
  virtual ~Baseline() = default;
  // Opens and preallocates. Once, before Run.
  virtual Status Prepare() = 0;
  // Appends `samples` * records_per_sample records. `latency_us[i]` is microseconds for each
  // record, timed on CLOCK_MONOTONIC around the calls alone.
  virtual Status Run(uint64_t samples, double* latency_us) = 0;
  // Hands over what is still in this process (stdio's buffer, submitted AIO) and closes.
  virtual Status Finish() = 0;
};

// Methods: direct-dsync, direct-dsync-handed, direct, pwrite, pwrite-range, pwrite-fdatasync,
// pwrite-fsync, mmap, mmap-populated, mmap-msync, mmap-msync-async, write-append, writev-append,
// stdio-flush, stdio, aio-append, direct-append. Null for any other name.
std::unique_ptr<Baseline> MakeBaseline(const Spec& spec);

}  // namespace durlog::bench
