// The places of a log's cursors, on the device before anything in front of them goes.
#ifndef DURLOG_RETENTION_CURSOR_SYNCS_H_
#define DURLOG_RETENTION_CURSOR_SYNCS_H_

#include <set>
#include <string>
#include <vector>

#include "cursor/cursor_file.h"
#include "platform/file_system.h"

namespace durlog {

// A position may be in memory only: a power cut takes the cursor back. Once the records in between
// have gone, it must not. Used by one thread at a time.
class CursorSyncs {
 public:
  // As ListCursorPlaces(), of what Sync() has not failed for.
  Result<std::vector<CursorPlace>> List(Directory& directory, const BootId& boot,
                                        const LogOfCursors& log) const;
  // Brings the places to the device. False where that fails for one of them: its position is not
  // known then, here and in each later List(), as another sync would succeed and say nothing.
  bool Sync(Directory& directory, std::vector<CursorPlace>* places);

 private:
  std::set<std::string> failed_;  // names of cursors
};

}  // namespace durlog

#endif  // DURLOG_RETENTION_CURSOR_SYNCS_H_
