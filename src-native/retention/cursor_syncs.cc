#include "retention/cursor_syncs.h"

namespace durlog {

Result<std::vector<CursorPlace>> CursorSyncs::List(Directory& directory, const BootId& boot,
                                                   const LogOfCursors& log) const {
  DURLOG_ASSIGN_OR_RETURN(std::vector<CursorPlace> places, ListCursorPlaces(directory, boot, log));
  for (CursorPlace& place : places) {
    if (failed_.count(place.name) > 0) place.position.reset();
  }
  return places;
}

bool CursorSyncs::Sync(Directory& directory, std::vector<CursorPlace>* places) {
  bool all = true;
  for (CursorPlace& place : *places) {
    if (!place.position || SyncCursorPlace(directory, place).ok()) continue;
    failed_.insert(place.name);
    place.position.reset();
    all = false;
  }
  return all;
}

}  // namespace durlog
