// Brings the places of a log's cursors to the device before the records below them are removed.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cursor/cursor_file.h"
#include "platform/file_system.h"

namespace durlog {

// A position may be in memory only, and a power cut then takes the cursor back. That must not
// happen once the records in between have been removed. Used by one thread at a time.
class CursorSyncs {
 public:
  // As ListCursorPlaces(), but without the positions of cursors for which Sync() has failed.
  Result<std::vector<CursorPlace>> List(Directory& directory, const BootId& boot,
                                        const LogOfCursors& log) const;
  // Brings the places to the device. False if that fails for one of them. Its position is then
  // unknown, here and in each later List(), because a second sync could succeed without having
  // written it.
  bool Sync(Directory& directory, std::vector<CursorPlace>* places);

 private:
  std::set<std::string> failed_;  // names of cursors
};

}  // namespace durlog
