// What `auto` decides: how records reach the file, and what is made ready for them.
#ifndef DURLOG_LOG_WRITE_POLICY_H_
#define DURLOG_LOG_WRITE_POLICY_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "log/options.h"
#include "platform/file_system.h"
#include "segment/chunk.h"

namespace durlog {

// A pure function of the options, of what the file system can do, and of what has been asked for.
// An option that is not `auto` makes the decision; then each function returns what was asked for,
// or what comes nearest to it here.
//
// A stray write() among synced appends is cheaper as a direct commit of its own than as two changes
// of mode: each of them syncs the file or dirties pages ahead of the append point. In a map, on the
// other hand, a small commit costs two to four direct ones. So the pull towards the map grows with
// each record that is wanted in memory, and goes back twice as fast with each commit that a caller
// wants synced. The mode changes at either end of the range, never in between.
class WritePolicy {
 public:
  WritePolicy(const LogOptions& options, const Capabilities& capabilities);

  // What the log starts with.
  WriteMode first_mode() const { return first_mode_; }
  // Why the mode is what it is, for stats().
  const std::string& reason() const { return reason_; }
  // The blocks of a segment cannot be had beforehand, so a store to a map of it could fail.
  void RefuseMap();

  void NoteRecords(Level level, uint64_t count) {
    if (level < Level::kSync) pull_ = count < full_pull_ - pull_ ? pull_ + count : full_pull_;
  }
  // A commit with records in it, at the level that was asked for.
  void NoteCommit(Level level) {
    if (level >= Level::kSync) pull_ -= std::min(pull_, kSyncedCommitWeight);
  }
  // Whether a log that is not in the map is to go there.
  bool EntersMap() const { return auto_mode_ && can_map_ && pull_ == full_pull_; }
  // Whether a log that is in the map is to write directly from the next commit on.
  bool LeavesMap() const { return auto_mode_ && direct_io_ && pull_ == 0; }

  // Whether a commit at `level` writes zeros ahead of its records, so that the next ones find
  // written extents: see CommitJob.
  bool ZerosAhead(Level level) const {
    return auto_preallocation_ && overwrites_in_place_ && level >= Level::kSync;
  }
  // How the pages ahead of a store are made ready. A caller that asked for the map itself wants its
  // msyncs small. The extents of a recycled segment are written: zeros would go to the device too.
  Populating PopulatesWith(bool recycled) const {
    return auto_mode_ && !recycled ? Populating::kWriteZeros : Populating::kTouch;
  }

  // How a spare's blocks are had. With `auto` at once, as the commits write the zeros; where every
  // write finds a new place anyway, blocks set aside are of no use to it.
  Preallocation SparePreallocation() const;
  // From which offset of the active segment on the next one is made ready: long before it is
  // needed, and not for a log that stays small. Stores into a map are the fastest.
  uint64_t SpareDueAt(WriteMode mode, uint64_t segment_bytes) const {
    return segment_bytes / (mode == WriteMode::kMmap ? 8 : 2);
  }
  // Whether a trimmed segment is kept to be used again.
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

#endif  // DURLOG_LOG_WRITE_POLICY_H_
