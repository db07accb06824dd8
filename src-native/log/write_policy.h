// Decides how records reach the file, and how files and pages are prepared for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "platform/file_system.h"
#include "segment/chunk.h"
#include "write/options.h"

namespace durlog {

// The decisions depend only on the options, on the capabilities of the file system, and on the
// levels that appends have requested. If an option is not `auto`, it decides: the functions return
// the requested behaviour, or the nearest one that the file system supports.
//
// A stray write() among synced appends is cheaper as a separate direct commit than as two changes
// of mode, because each change syncs the file or dirties pages ahead of the append point. In a map,
// on the other hand, a small commit costs as much as two to four direct ones. So a counter, the
// pull towards the map, grows by one for each record that is wanted in memory, and shrinks by two
// for each commit that a caller wants synced. The mode changes only when the counter reaches an end
// of its range. It starts at the upper end, so that a log whose first records are wanted in memory
// maps at once.
class WritePolicy {
 public:
  WritePolicy(const LogOptions& options, const Capabilities& capabilities);

  // The mode in which the log starts.
  WriteMode first_mode() const { return first_mode_; }
  // The reason for the current mode, for stats().
  const std::string& reason() const { return reason_; }
  // Excludes the map from now on. Called if the blocks of a segment cannot be allocated in advance,
  // because a store into a map of it could then fail.
  void RefuseMap();

  void NoteRecords(Level level, uint64_t count) {
    if (level < Level::kSync) pull_ = count < full_pull_ - pull_ ? pull_ + count : full_pull_;
  }
  // Notes a commit that holds records, at the level that was requested for it.
  void NoteCommit(Level level) {
    if (level >= Level::kSync) pull_ -= std::min(pull_, kSyncedCommitWeight);
  }
  // Whether a log that does not store into a map should begin to.
  bool EntersMap() const { return auto_mode_ && can_map_ && pull_ == full_pull_; }
  // Whether a log that stores into a map should write directly from the next commit on.
  bool LeavesMap() const { return auto_mode_ && direct_io_ && pull_ == 0; }

  // Whether a commit at `level` writes zeros ahead of its records, so that the next ones find
  // written extents: see CommitJob.
  bool ZerosAhead(Level level) const {
    return auto_preallocation_ && overwrites_in_place_ && level >= Level::kSync;
  }
  // How the pages ahead of a store are prepared. If the caller chose the map, they are only
  // touched, which keeps its msyncs small. A recycled segment's extents are written already, and
  // zeros would only add writes to the device.
  Populating PopulatesWith(bool recycled) const {
    return auto_mode_ && !recycled ? Populating::kWriteZeros : Populating::kTouch;
  }

  // How a spare's blocks are allocated. With `auto` they are allocated at once and the commits
  // write the zeros. If the file system writes every block to a new place, allocating in advance is
  // useless, so there is none.
  Preallocation SparePreallocation() const;
  // The offset in the active segment from which the next segment is prepared: long before it is
  // needed, and never in a log that stays small. It is lower for a map, because stores into a map
  // fill a segment fastest, and for direct writes, because a worker then writes zeros to it.
  uint64_t SpareDueAt(WriteMode mode, uint64_t segment_bytes) const {
    return segment_bytes / (mode == WriteMode::kMmap ? 8 : mode == WriteMode::kDirect ? 4 : 2);
  }
  // Whether a trimmed segment's file is kept for reuse.
  bool Recycles(WriteMode mode) const;

 private:
  static constexpr uint64_t kSyncedCommitWeight = 2;

  void ChooseFirstMode(const LogOptions& options, const Capabilities& capabilities);

  const bool auto_mode_;
  const bool auto_preallocation_;
  const Preallocation preallocation_;  // unless auto_preallocation_
  const bool overwrites_in_place_;
  const bool direct_io_;
  const uint64_t full_pull_;
  bool can_map_;
  WriteMode first_mode_ = WriteMode::kPwrite;
  std::string reason_;
  uint64_t pull_ = 0;
};

}  // namespace durlog
