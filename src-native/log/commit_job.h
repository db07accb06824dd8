// One group commit: the writes and syncs that bring everything appended so far to a level.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/job.h"
#include "log/staged_group.h"
#include "log/sync_backlog.h"
#include "segment/mapped_tail.h"
#include "segment/segment.h"
#include "write/options.h"

namespace durlog {

struct CommitPlan {
  Level level = Level::kMemory;
  WriteMode mode = WriteMode::kPwrite;  // of the pieces
  uint32_t direct_alignment = 4096;
  uint32_t map_alignment = 4096;
  // Write zeros ahead of the pieces: see WritePolicy::ZerosAhead().
  bool zero_ahead = false;
  StagedGroup group;
  std::vector<SyncTarget> targets;
  // The identity of the lock's file, if the file system keeps such identities.
  std::optional<FileId> lock;
  // A tail that the log gives up with this commit. The worker unmaps it after the sync.
  std::unique_ptr<MappedTail> retired_tail;
  // If set, the log's last commit: states in the slot of this segment that every record is synced.
  std::shared_ptr<Segment> ending;

  // A larger write amortises the conversion of its extents itself. (Without zeros from 64 or 128
  // KiB on, 1,024 appends of 256 B in flight are 13 % slower.)
  static constexpr uint64_t kNoZerosFromBytes = 256u << 10;
  // Whether commits like this one are faster in a segment that zeros were written to.
  bool GainsByZeros() const {
    return zero_ahead && mode == WriteMode::kDirect && group.has_records() &&
           group.frame_bytes < kNoZerosFromBytes;
  }
};

enum class CommitOutcome : uint8_t {
  kDone,
  // No record of the group is in the log, because there was no space, no memory, no descriptor, or
  // no segment to write to. The segments are unchanged.
  kRolledBack,
  // A write or sync failed, and the content of the device is unknown.
  kFailed,
};

// A commit has two phases. The writes put the group into the page cache, or past it if they are
// direct. The syncs follow. The log's thread may continue after the writes without waiting for the
// syncs.
class CommitJob final : public Job {
 public:
  CommitJob(FileSystem& file_system, Directory& directory, CommitPlan plan)
      : file_system_(file_system), directory_(directory), plan_(std::move(plan)), writes_(*this) {}

  // Waits for the writes, or does them in this call if no worker has begun. Returns false if they
  // failed or were rolled back: outcome() distinguishes the two.
  bool AwaitWrites() {
    writes_.Await();
    return written_;
  }
  // The segments that got their names in this commit, oldest first. A second call returns none.
  // Call it after done(), or after AwaitWrites() has returned true.
  std::vector<std::shared_ptr<Segment>> TakeActivated() { return std::exchange(activated_, {}); }
  // After done().
  CommitPlan& plan() { return plan_; }
  CommitOutcome outcome() const { return outcome_; }
  const Status& status() const { return status_; }
  // How long the commit took.
  uint64_t micros() const { return micros_; }
  // When the commit ended, by FileSystem::MonotonicMicros().
  uint64_t ended_micros() const { return ended_micros_; }
  // Releases the segments, maps and buffers, because a worker may hold the job for longer.
  void Release();

 protected:
  void Run() override;

 private:
  class Writes final : public Job {
   public:
    explicit Writes(CommitJob& commit) : commit_(commit) {}

   protected:
    void Run() override { commit_.Write(); }

   private:
    CommitJob& commit_;
  };

  void Write();
  void Sync();
  Status WritePieces();
  Status OpenSegment(const std::shared_ptr<Segment>& segment);
  OpenMode DirectMode() const;
  Status WritePiece(StagedPiece& piece);
  uint64_t ZerosUntil(const StagedPiece& piece, uint64_t end) const;
  Status WriteUntil(StagedPiece& piece, uint64_t until);
  Status SyncTargets();
  Status StateEnd();
  Status SyncOne(SyncTarget& target);
  void DropMappedPages(SyncTarget& target);
  Status UndoWrites();

  FileSystem& file_system_;
  Directory& directory_;
  CommitPlan plan_;
  CommitOutcome outcome_ = CommitOutcome::kFailed;
  Status status_;
  bool untouched_ = false;  // WritePieces() failed in a step that changes nothing
  uint64_t micros_ = 0;
  uint64_t ended_micros_ = 0;
  std::vector<std::shared_ptr<Segment>> activated_;
  bool written_ = false;
  Writes writes_;
};

}  // namespace durlog
