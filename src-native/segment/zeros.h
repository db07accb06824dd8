// Zeros that are written to a segment's file before its records.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/job.h"
#include "platform/file_system.h"

namespace durlog {

// Writes zeros to [begin, end), in steps between which the device can run commits.
Status WriteZeros(File& file, uint64_t begin, uint64_t end);

// Writes zeros past the page cache to a part of a spare. They only make later commits faster: if
// they fail, or if the job is cancelled, the commits write the zeros.
class ZerosJob final : public Job {
 public:
  // Aligned as direct writes require.
  ZerosJob(Directory& directory, std::string name, uint64_t begin, uint64_t end)
      : directory_(directory), name_(std::move(name)), written_end_(begin), end_(end) {}

  // Commits need the workers while this job waits for the device.
  bool waits() const override { return true; }
  // After done().
  uint64_t written_end() const { return written_end_; }
  bool complete() const { return written_end_ == end_; }

 protected:
  void Run() override;

 private:
  Directory& directory_;
  const std::string name_;
  uint64_t written_end_;
  const uint64_t end_;
};

}  // namespace durlog
