// The writer's lock: the taking is the system's, the pid in the file is shared by all.
#ifndef DURLOG_PLATFORM_POSIX_LOCK_H_
#define DURLOG_PLATFORM_POSIX_LOCK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "platform/file_system.h"
#include "platform/posix_fd.h"

namespace durlog {

// Takes the lock on the open file or answers kLocked; writes our pid into the file.
Result<std::unique_ptr<FileLock>> LockOpenFile(ScopedFd fd, const std::string& path);

// As LockOpenFile without a word in the file; null where another open of it has the lock.
Result<std::unique_ptr<FileLock>> TryLockFile(ScopedFd fd, const std::string& path);

// False where another open of the file, in this process or another, holds the lock. The system
// lets go when the last descriptor of this open is closed, by the death of its process too.
Result<bool> TryLockDescriptor(int fd, const std::string& path);
// Whether another open of the file holds the lock. Where the system can only be asked by trying,
// the lock is taken for a moment, shared with others that ask.
Result<bool> IsDescriptorLocked(int fd, const std::string& path);
// Lets go at once, for every descriptor of this open.
void UnlockDescriptor(int fd);

// As File::TryLockRange(), UnlockRange() and RangeLockOfOthers().
Result<bool> TryLockRangeOf(int fd, const std::string& path, LockKind kind, uint64_t offset,
                            uint64_t length);
Status UnlockRangeOf(int fd, const std::string& path, uint64_t offset, uint64_t length);
Result<std::optional<LockKind>> RangeLockBesides(int fd, const std::string& path, uint64_t offset,
                                                 uint64_t length);

}  // namespace durlog

#endif  // DURLOG_PLATFORM_POSIX_LOCK_H_
