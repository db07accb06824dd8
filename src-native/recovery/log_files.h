// The files of a log's folder, by their names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platform/file_system.h"

namespace durlog {

struct LogFiles {
  std::vector<uint64_t> segments;  // first seqs, ascending
  std::vector<std::string> spares;
};

// kNotALog if a link or a folder has a segment's name: durlog must not write to the target of the
// link, and without that segment the log would begin or end at another seq.
Result<LogFiles> ListLogFiles(Directory& directory);

// As ListLogFiles(), but kNotFound if there is no segment.
Result<LogFiles> FindLogFiles(Directory& directory);

// Whether a call failed because a file was removed after it was listed.
inline bool WasRemoved(const Status& status) {
  return status.code() == Code::kNotFound && status.sys_errno() != 0;
}

// Calls `read`, which lists the files of a log that a process may be trimming, and again if a
// listed segment was removed before it was opened.
template <typename Read>
auto ReadUntrimmed(const Read& read) {
  constexpr int kAttempts = 8;
  for (int attempt = 1;; ++attempt) {
    auto result = read();
    if (!WasRemoved(result.status()) || attempt == kAttempts) return result;
  }
}

}  // namespace durlog
