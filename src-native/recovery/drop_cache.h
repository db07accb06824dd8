// Makes reads of a segment's file return the contents of the device.
#pragma once

#include "platform/file_system.h"

namespace durlog {

// A writer that stores into a map puts up to 16 MiB of zeros ahead of its records. Writing the
// zeros that are only in the cache, and reading them back, takes longer than doing so for the
// records. This function therefore turns the blocks at the file's end into unwritten blocks, which
// also read as zeros. The file's bytes do not change, even if the call fails. The file must be open
// kReadWrite, and the caller must have the log's lock, because a writer's next record would be
// stored among these zeros.
//
// After a failed writeback, the device may hold other bytes under zeros in the cache. They can only
// be bytes that a writer cut or rolled back in a call that failed.
Status DiscardDirtyZeros(File& file);

// Syncs the file and drops its cache, because after a failed writeback the cache shows a whole page
// over blocks that were never written.
//
// True if the sync succeeded and the cache was empty after it: then all bytes that are read from
// now on are already on the device. False if not, or if the system cannot report it.
Result<bool> DropCache(File& file);

}  // namespace durlog
