// The files of a log's folder, by their names.
#ifndef DURLOG_RECOVERY_LOG_FILES_H_
#define DURLOG_RECOVERY_LOG_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "platform/file_system.h"

namespace durlog {

struct LogFiles {
  std::vector<uint64_t> segments;  // first seqs, ascending
  std::vector<std::string> spares;
};

// kNotALog where a segment's name belongs to a link or a folder: what it leads to is not ours to
// write to, and the log would begin or end elsewhere without it.
Result<LogFiles> ListLogFiles(Directory& directory);

}  // namespace durlog

#endif  // DURLOG_RECOVERY_LOG_FILES_H_
