// Lists and removes the named cursors of a log, without opening them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cursor/cursor_slot.h"
#include "platform/file_system.h"

namespace durlog {

// A cursor's file and its lock, which this process holds.
struct OwnedCursorFile {
  std::unique_ptr<FileLock> lock;
  std::unique_ptr<File> file;
};
// Creates the file if there is none. kLocked, with the owner's pid, if it is open.
Result<OwnedCursorFile> TakeCursorFile(Directory& directory, const std::string& file_name);

struct CursorSummary {
  std::string name;
  std::optional<uint64_t> position;  // nullopt if the file is damaged
  std::optional<uint64_t> cut;       // the log was cut to end at this seq, below the position
  CursorProof proof;                 // at or before the position
  bool confirmed = false;            // its creation has ended; false for a cursor of another log
  bool owned = false;
  int64_t owner_pid = 0;  // 0 if unknown
};
// Returns the cursors in the order of their names. Changes nothing. kNotFound if the folder has no
// log.
Result<std::vector<CursorSummary>> ListCursors(FileSystem& file_system, const std::string& path);

// Removes a cursor, and the file `name`.status in which the program that has used the cursor states
// its last failure. kNotFound if the cursor does not exist, kLocked while it is open.
Status RemoveCursor(FileSystem& file_system, const std::string& path, const std::string& name);

}  // namespace durlog
