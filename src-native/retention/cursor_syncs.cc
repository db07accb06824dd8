#include "retention/cursor_syncs.h"

#include <algorithm>

#include "cursor/cut_list.h"

namespace durlog {

Result<std::vector<CursorPlace>> CursorSyncs::List(Directory& directory, const BootId& boot,
                                                   const LogOfCursors& log) const {
  DURLOG_ASSIGN_OR_RETURN(std::vector<CursorPlace> places, ListCursorPlaces(directory, boot, log));
  const Result<CutList> cuts = ReadCuts(directory, log.uuid);
  for (CursorPlace& place : places) {
    if (failed_.count(place.name) > 0 || !cuts.ok()) place.position.reset();
    if (!place.position) continue;
    const std::optional<uint64_t> cut = cuts->LowestSince(place.generation);
    if (cut) place.position = std::min(*place.position, *cut);
  }
  return places;
}

bool CursorSyncs::Sync(Directory& directory, std::vector<CursorPlace>* places) {
  bool all = true;
  for (CursorPlace& place : *places) {
    if (!place.position) continue;
    const Status synced = SyncCursorPlace(directory, place);
    if (synced.ok()) continue;
    if (!synced.lacks_resources()) failed_.insert(place.name);
    place.position.reset();
    all = false;
  }
  return all;
}

}  // namespace durlog
