// The file `lock` of a log, on which each member has a shared lock, and an exclusive writer an
// exclusive one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "platform/file_system.h"

namespace durlog {

// Opens the file, or makes it.
Result<std::unique_ptr<File>> OpenMembersLock(Directory& directory);
// Takes the lock exclusively if no other process has it, not even shared: then no member is alive,
// and no exclusive writer.
Result<bool> TakeAsFirst(File& lock);
// Names the process in messages of others; 0 for none.
void WriteLockOwner(File& lock, int64_t pid);
// The error for a log that an exclusive writer has open.
Status LockedAlone(File& lock, FileSystem& file_system, const std::string& path);

}  // namespace durlog
