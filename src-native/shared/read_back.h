// Reads synced records back from the device if the success of a member's sync does not prove that
// the device holds them.
//
// The system reports a failed writeback once to each open of a file that is older than the failure.
// If another process has received that report, an open that came later is never informed: its sync
// succeeds, and the record is only in the page cache. So if a member opened a segment after records
// were stored in it, it reads the records from the device after each of its syncs. It stops when a
// member that trusts its own syncs has synced the segment with success after that open: no
// writeback had failed by then, and a later failure is reported to both.
#pragma once

#include <cstdint>
#include <memory>

#include "platform/file_system.h"
#include "record/record_format.h"

namespace durlog {

class SharedSegment;

// The check of one segment. Used by one thread at a time.
class ReadBack {
 public:
  // Null if the member may trust its syncs of the segment, which it has just opened: no record has
  // been stored there since the log was recovered up to `recovered_end` from the device.
  static std::unique_ptr<ReadBack> IfNeeded(SharedSegment& segment, uint64_t recovered_end);

  // Whether a member that trusts its syncs has synced the segment since it was opened. That member
  // has synced every record before `trusted_end`: if one of them was stored after the open, the
  // sync began after it too.
  bool IsNoLongerNeeded(uint64_t trusted_end) const { return trusted_end > end_at_open_; }

  // Called after a successful sync. Reads every frame from the synced end to the offset `end`,
  // which is a boundary between frames, past the page cache. `synced_end` is published by the
  // members: the device is known to hold every record below it. kIo if a frame is not whole on the
  // device.
  //
  // Every sync needs the check, not only the first one: after a failed writeback ext4 may leave
  // cached pages over blocks that are marked unwritten, also pages that were populated ahead and
  // hold no record yet. A record that is stored there later is synced with success and reads as
  // zeros after the next mount.
  Status Check(Directory& directory, SharedSegment& segment, uint32_t direct_alignment,
               uint64_t synced_end, uint64_t end);

 private:
  ReadBack(uint64_t first_seq, uint64_t end_at_open) : end_at_open_(end_at_open), seq_(first_seq) {}
  void SkipSynced(SharedSegment& segment, uint64_t synced_end, uint64_t end);

  const uint64_t end_at_open_;  // the first seq that was not stored yet
  uint64_t offset_ = kSegmentHeaderBytes;
  uint64_t seq_;
  std::unique_ptr<File> direct_;  // opened by the first check
};

}  // namespace durlog
