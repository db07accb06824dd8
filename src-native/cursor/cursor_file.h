// The files of a log's cursors: their names and their content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cursor/cursor_slot.h"
#include "platform/file_system.h"

namespace durlog {

// A name is 1 to 64 letters, digits, hyphens and underscores.
bool IsCursorName(const std::string& name);
std::string CursorFileName(const std::string& name);
// Names of cursors, not of files.
Result<std::vector<std::string>> ListCursorNames(Directory& directory);

struct CursorFileView {
  // The newest valid slot and its index; nullopt if no slot is valid.
  std::optional<CursorSlot> newest;
  size_t newest_at = 0;
  std::vector<CursorSlot> whole;  // all valid slots
  bool newer_version = false;
  // The file is too short: its owner died before the cursor had a position.
  bool unfinished = false;
  // One of the first two slots is whole. If not, an owner may still be creating the cursor, and may
  // remove it again.
  bool confirmed = false;
};
// Callable while the owner stores a position: the previous slot is valid until the new one is
// whole.
Result<CursorFileView> ReadCursorFile(File& file);

// The position of a slot in this boot. After a reboot, the position is `slot.durable`, which a
// power cut cannot undo. But it is at least the lower of `slot.position` and `first_seq`, the log's
// first seq: the cursor had passed the records that were trimmed since.
uint64_t PositionIn(const BootId& boot, const CursorSlot& slot, uint64_t first_seq);

// The log to which the cursors in a folder belong.
struct LogOfCursors {
  LogUuid uuid{};
  uint64_t first_seq = 0;
};
// kNotFound if the folder holds no log.
// kNotALog if the folder holds another log than `expected` (zeros: any log).
Result<LogOfCursors> FindLog(Directory& directory, const LogUuid& expected = {});

// The position of a cursor according to its file.
struct CursorPlace {
  std::string name;
  std::optional<uint64_t> position;  // nullopt if the file cannot be read or is damaged
  uint64_t generation = 0;           // the log's when the position was stored
  // Its valid slots, also older ones. If the sync of the newest slot has failed, the file shows
  // this slot until its pages are dropped, and an older one after that.
  std::vector<CursorSlot> slots = {};
};
// The places of the cursors of `log`, by name.
Result<std::vector<CursorPlace>> ListCursorPlaces(Directory& directory, const BootId& boot,
                                                  const LogOfCursors& log);
// Syncs the position, which may be in memory only, so that a power cut does not move the cursor
// back to a record before `place`.
Status SyncCursorPlace(Directory& directory, const CursorPlace& place);

}  // namespace durlog
