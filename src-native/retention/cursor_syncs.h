// Syncs the positions of a log's cursors before the records below them are removed.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cursor/cursor_file.h"
#include "platform/file_system.h"

namespace durlog {

// If a position is in memory only, a power cut moves the cursor back. This must not happen after
// the records in between have been removed. Used by one thread at a time.
class CursorSyncs {
 public:
  // As ListCursorPlaces(), but without the positions of cursors for which Sync() has failed, and
  // with the cut as the position if committed records were cut: the cursor has not read the records
  // that replaced them. Without any position if the list of cuts cannot be read.
  Result<std::vector<CursorPlace>> List(Directory& directory, const BootId& boot,
                                        const LogOfCursors& log) const;
  // Syncs the positions. Returns false if a sync fails. The position of that cursor is then
  // unknown, here and in each later List(), because a second sync could succeed without having
  // written the position. If only descriptors or memory were lacking, the next call tries again.
  bool Sync(Directory& directory, std::vector<CursorPlace>* places);

 private:
  std::set<std::string> failed_;  // names of cursors
};

}  // namespace durlog
