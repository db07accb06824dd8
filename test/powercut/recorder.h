// Runs a workload on a fresh file system and records its operations on the disk.
#pragma once

#include <string>

#include "file_systems.h"
#include "recording.h"

namespace powercut {

struct RecordOptions {
  const FileSystem* file_system;
  std::string workload;  // a command; README.md describes its environment and its task
  std::string seed;
  bool direct_io;  // of the loop device
};

// Throws if the workload fails or leaves nothing to test.
Recording Record(const RecordOptions& options);

}  // namespace powercut
