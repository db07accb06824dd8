// The writer's lock on Windows.
#pragma once

#include <memory>
#include <string>

#include "platform/file_system.h"
#include "platform/windows_handle.h"

namespace durlog {

// Takes the lock on the open file, or returns kLocked; writes our pid into the file.
Result<std::unique_ptr<FileLock>> LockOpenFile(ScopedHandle file, const std::string& path);

// As LockOpenFile, but writes no pid; null if another open of the file holds the lock.
Result<std::unique_ptr<FileLock>> TryLockFile(ScopedHandle file, const std::string& path);
// Whether another open of the file holds the lock. Tests by taking a shared lock for a moment.
Result<bool> IsHandleLocked(HANDLE file, const std::string& path);

}  // namespace durlog
