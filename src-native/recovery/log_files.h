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

}  // namespace durlog
