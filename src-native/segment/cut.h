// Cuts a segment's file so that no byte that was cut can return after a crash.
#pragma once

#include <cstdint>

#include "platform/file_system.h"
#include "record/segment_header.h"

namespace durlog {

// Truncates the file, allocates its blocks again if they were preallocated, and syncs it.
Status CutSegment(File& file, uint64_t offset, uint64_t segment_bytes);
// As CutSegment(), for synced records. A power cut at any moment leaves no whole frame after a
// damaged one, which the next open would have to report as corrupt. The removed frames may be the
// only ones that state how far the log was synced, so the caller first states it in the slot.
Status CutSyncedRecords(File& file, uint64_t offset, uint64_t segment_bytes);
// As CutSyncedRecords(), to the seq `next_seq` inside a void, which begins at `offset` with the seq
// `void_seq`. A shorter void replaces it. The log is first cut before the void, and then the
// shorter void is appended, so that at every moment the device holds a valid prefix of the log.
// Returns the new end.
Result<uint64_t> CutInsideVoid(File& file, const SegmentHeader& header, uint64_t offset,
                               uint64_t void_seq, uint64_t next_seq);

}  // namespace durlog
