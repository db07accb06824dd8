// Keeps trims that honour cursors apart from the creation of cursors, also of other processes.
#pragma once

#include <memory>

#include "platform/file_system.h"

namespace durlog {

inline constexpr char kTrimLockName[] = "trim-lock";

// A process that trims only what the cursors have passed holds this lock from before it reads their
// positions until the log's first seq is raised. So it honours each position that was stored before
// it took the lock. kLocked, with the owner's pid, while another open holds the lock. Null if the
// disk is too full for the file: a trim must be able to free space.
Result<std::unique_ptr<FileLock>> LockTrims(Directory& directory);

// kLocked, with the owner's pid, while the lock is held. If this returns OK after a position was
// stored, later trims honour the position, and the log's first seq includes every earlier trim.
Status CheckTrims(FileSystem& file_system, Directory& directory);

}  // namespace durlog
