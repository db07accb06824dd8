// Syncs written data to the device: one implementation for each system, next to those of
// PosixFile::SyncData() and StartWriteback().
//
// No caller may retry any of these calls, not even after EINTR: the kernel reports a failed
// writeback once, so a second call may return 0 for data that is lost.
#pragma once

#include <string>

#include "base/status.h"

namespace durlog {

// Must follow each msync that returned 0, and each write to a file opened kDirect, with a
// descriptor of the file; the other calls include it. The data is durable once this has returned
// OK. `call` is the msync or the write; it and `path` are for the error only.
Status FinishSync(int fd, const char* call, const std::string& path);
// The platform's strongest sync, of a file or of the entries of a folder.
Status SyncFullOf(int fd, const std::string& path);
// See Directory::SyncFileSystem(). `fd` was opened before the writes that are to be synced.
Status SyncFileSystemOf(int fd, const std::string& path);

}  // namespace durlog
