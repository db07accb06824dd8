// Syncs written data to the device: one implementation for each system.
//
// No caller may retry these calls, not even after EINTR: the kernel reports a failed writeback
// once, so a second call may return 0 for data that is lost.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace durlog {

// `path` is for the error only.
Status StartWritebackOf(int fd, const std::string& path, uint64_t offset, uint64_t length);
Status SyncDataOf(int fd, const std::string& path);
Status SyncFullOf(int fd, const std::string& path);
// Must follow each msync that returned 0, and each write to a file opened kDirect, with a
// descriptor of the file; the other functions include it. The data is durable once this has
// returned OK. `call` is the msync or the write, for the error only.
Status FinishSync(int fd, const char* call, const std::string& path);
// Makes the entries of the folder open as `fd` durable, as strongly as the platform can.
Status SyncDirectoryOf(int fd, const std::string& path);
// See Directory::SyncFileSystem(). `fd` was opened before the writes that are to be synced.
Status SyncFileSystemOf(int fd, const std::string& path);

}  // namespace durlog
