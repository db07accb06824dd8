// The bounds of a log that this process does not have open for writing.
#pragma once

#include <cstdint>
#include <string>

#include "platform/file_system.h"
#include "record/segment_header.h"

namespace durlog {

struct LogBounds {
  uint64_t first_seq = 0;
  uint64_t next_seq = 0;
  uint64_t synced_end = 0;  // records below it are known to have been synced
  LogUuid uuid{};
};

// Reads the bounds from the live page while the log has a writer, otherwise from the files.
Result<LogBounds> ReadBounds(FileSystem& file_system, const std::string& path);

// Whether a process, this one or another, has the log open for writing.
Result<bool> HasWriter(FileSystem& file_system, const std::string& path);

}  // namespace durlog
