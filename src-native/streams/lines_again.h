// Writes lines again that a checkpoint which did not end has left in a stream's file.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "platform/file_system.h"

namespace durlog {

// Makes `lines`, which other programs read at the end of the file from `from` on, durable. They may
// be in the page cache alone: after a failed write, ext4 shows them although the device never got
// them, and no later sync writes them. Readers see the same bytes all the time, with spaces up to
// the end of the last page. False if the file system has no direct I/O: a write to the page cache
// would not repair the blocks of a failed one.
Result<bool> WriteLinesAgain(Directory& folder, const std::string& name, uint64_t from,
                             Bytes lines);

}  // namespace durlog
