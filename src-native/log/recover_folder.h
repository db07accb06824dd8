// What every open for writing does with the files that it finds, before anything is appended.
#ifndef DURLOG_LOG_RECOVER_FOLDER_H_
#define DURLOG_LOG_RECOVER_FOLDER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "live/live_page_writer.h"
#include "log/options.h"
#include "platform/file_system.h"
#include "recovery/plan.h"
#include "recovery/report.h"

namespace durlog {

struct RecoveredFolder {
  LogUuid uuid{};
  RecoveryReport report;
  std::vector<uint64_t> segments;  // what there are by now, ascending; none: the log is new
  uint64_t next_seq = 0;
  bool end_marked = false;  // a marker says that everything is synced
  // The segment to append to. Nothing where there is none, or none that may be changed.
  std::optional<ScannedSegment> last;
};

// Recovers the log in `directory`, whose lock the caller has alone. Cuts are announced in `live`,
// which is attached. A folder without segments is to become the log that `options` say is restored.
// kCorrupt unless it is to be salvaged, which changes nothing in what is damaged.
Status RecoverFolder(FileSystem& file_system, Directory& directory,
                     const Capabilities& capabilities, const LogOptions& options,
                     LivePageWriter* live, RecoveredFolder* folder);

}  // namespace durlog

#endif  // DURLOG_LOG_RECOVER_FOLDER_H_
