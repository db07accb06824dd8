// Makes reading a segment's file show what the device holds.
#ifndef DURLOG_RECOVERY_SHOW_DEVICE_H_
#define DURLOG_RECOVERY_SHOW_DEVICE_H_

#include "platform/file_system.h"

namespace durlog {

// A writer that stores into a map puts up to 16 MiB of zeros ahead of its records. To write those
// that only the cache holds, and to read them back, takes longer than the records do: so the blocks
// at the file's end become unwritten ones, which read as zeros too. The file's bytes do not change,
// also where it fails. The file is open kReadWrite and the caller has the log's lock: a writer's
// next record would fall among these zeros.
//
// Where a writeback has failed, there may be something else on the device below zeros in the cache.
// It can only be what a writer cut, or took back, in a call that failed.
Status GiveBackDirtyZeros(File& file);

// Syncs the file and drops its cache: after a failed writeback the cache shows a whole page over
// blocks that were never written.
//
// True if the sync succeeded and nothing was left in the cache: then all that is read from now on
// is on the device already. False where that is not so, or the system cannot tell.
Result<bool> ShowDevice(File& file);

}  // namespace durlog

#endif  // DURLOG_RECOVERY_SHOW_DEVICE_H_
