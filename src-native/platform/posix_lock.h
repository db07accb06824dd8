// The writer's lock. Each system locks in a different way, and implements PosixFile::TryLockRange()
// and UnlockRange() too; the pid in the file has the same format everywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "platform/file_system.h"
#include "platform/posix_fd.h"

namespace durlog {

// Takes the lock on the open file, or returns kLocked; writes our pid into the file.
Result<std::unique_ptr<FileLock>> LockOpenFile(ScopedFd fd, const std::string& path);

// As LockOpenFile, but writes no pid; null if another open of the file holds the lock.
Result<std::unique_ptr<FileLock>> TryLockFile(ScopedFd fd, const std::string& path);

// False if another open of the file, in this process or another, holds the lock. The system
// releases the lock when the last descriptor of this open is closed or its process dies.
Result<bool> TryLockDescriptor(int fd, const std::string& path);
// Whether another open of the file holds the lock. If the system can only test a lock by taking it,
// a shared lock is taken for a moment.
Result<bool> IsDescriptorLocked(int fd, const std::string& path);
// Releases the lock at once, for every descriptor of this open.
void UnlockDescriptor(int fd);

// As File::RangeLockOfOthers().
Result<std::optional<LockKind>> RangeLockBesides(int fd, const std::string& path, uint64_t offset,
                                                 uint64_t length);

}  // namespace durlog
