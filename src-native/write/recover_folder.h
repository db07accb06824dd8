// Recovery of a log's files: every open for writing does it before the first append.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "live/live_page_writer.h"
#include "platform/file_system.h"
#include "recovery/plan.h"
#include "recovery/report.h"
#include "write/options.h"

namespace durlog {

struct RecoveredFolder {
  LogUuid uuid{};
  RecoveryReport report;
  std::vector<uint64_t> segments;  // first seqs after recovery, ascending; empty if the log is new
  uint64_t next_seq = 0;
  bool end_stated = false;  // the log states that everything is synced
  // The segment to append to. Null if there is none, or if none may be changed.
  std::optional<ScannedSegment> last;
};

// Recovers the log in `directory`. The caller holds its lock exclusively, and no process can join
// an earlier session of the log any more. Announces cuts in `live`, which is attached. If the
// folder has no segments and `options` name a restored log, the folder takes that log's identity. A
// damaged log fails with kCorrupt unless `options` ask for salvage, which never changes damaged
// bytes.
Status RecoverFolder(FileSystem& file_system, Directory& directory,
                     const Capabilities& capabilities, const LogOptions& options,
                     LivePageWriter* live, RecoveredFolder* folder);

}  // namespace durlog
