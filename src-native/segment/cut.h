// Cuts a segment's file so that no byte that was cut can return after a crash.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "record/segment_header.h"
#include "segment/segment_file.h"

namespace durlog {

// As SegmentFile::Cut(), for synced records. A power cut at any moment leaves no whole frame after
// a damaged one, which the next open would have to report as corrupt. The removed frames may be the
// only ones that state how far the log was synced, so the caller first states it in the slot.
Status CutSyncedRecords(SegmentFile& file, uint64_t offset);
// As CutSyncedRecords(), to the seq `next_seq` inside a void, which begins at `offset` with the seq
// `void_seq`. A shorter void replaces it. The log is first cut before the void, and then the
// shorter void is appended, so that at every moment the device holds a valid prefix of the log.
// Returns the new end.
Result<uint64_t> CutInsideVoid(SegmentFile& file, const SegmentHeader& header, uint64_t offset,
                               uint64_t void_seq, uint64_t next_seq);

}  // namespace durlog
