// The slot in a segment's first block that states how far the log was synced. Frames state this
// too, but only those that follow.
#pragma once

#include <cstdint>

#include "platform/file_system.h"

namespace durlog {

// 0 if the slot was never written, or if both copies are damaged.
Result<uint64_t> ReadSyncedSlot(File& file, uint32_t crc_seed);
// States that every record below `synced_end` is on the device, and syncs the statement. A power
// cut leaves the old statement or the new one, so both must be true until this returns. A copy is
// within one sector.
Status WriteSyncedSlot(File& file, uint32_t crc_seed, uint64_t synced_end);
// As WriteSyncedSlot(), for a higher end than before: OK without the statement if its write finds
// no memory or, on a file system that does not overwrite in place, no room. The next open then
// reads a little more.
Status RaiseSyncedSlot(File& file, uint32_t crc_seed, uint64_t synced_end);

}  // namespace durlog
