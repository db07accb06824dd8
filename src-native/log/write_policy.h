// When `auto` stores into a map, and when it writes directly: a pure function of what was asked
// for.
#ifndef DURLOG_LOG_WRITE_POLICY_H_
#define DURLOG_LOG_WRITE_POLICY_H_

#include <algorithm>
#include <cstdint>

#include "log/options.h"

namespace durlog {

// A stray write() among synced appends is cheaper as a direct commit of its own than as two changes
// of mode: each of them syncs the file or dirties pages ahead of the append point. In a map, on the
// other hand, a small commit costs two to four direct ones. So the pull towards the map grows with
// each record that is wanted in memory, and goes back twice as fast with each commit that a caller
// wants synced. The mode changes at either end of the range, never in between.
class WritePolicy {
 public:
  // `mode` is what the log starts in; so many records in memory make it go to the map.
  explicit WritePolicy(WriteMode mode = WriteMode::kDirect, uint64_t full_pull = 1)
      : full_pull_(full_pull), pull_(mode == WriteMode::kMapped ? full_pull : 0) {}

  void NoteRecords(Level level, uint64_t count) {
    if (level < Level::kSync) pull_ = count < full_pull_ - pull_ ? pull_ + count : full_pull_;
  }
  // A commit with records in it, at the level that was asked for.
  void NoteCommit(Level level) {
    if (level >= Level::kSync) pull_ -= std::min(pull_, kSyncedCommitWeight);
  }

  bool WantsMap() const { return pull_ == full_pull_; }
  bool WantsDirect() const { return pull_ == 0; }

 private:
  static constexpr uint64_t kSyncedCommitWeight = 2;

  uint64_t full_pull_;
  uint64_t pull_;
};

}  // namespace durlog

#endif  // DURLOG_LOG_WRITE_POLICY_H_
