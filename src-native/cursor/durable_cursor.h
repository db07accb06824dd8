// A position in a log that outlives its process: a file in the log's folder, owned by one open at a
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cursor/cursor_slot.h"
#include "platform/file_system.h"

namespace durlog {

// A commit at `memory` is a store into a map of the file, or one write if the file system does not
// overwrite in place. A sync writes to separate slots, so that losing a later commit cannot lose a
// synced position.
//
// Usable from any thread; only one Sync() or Place() at a time.
class DurableCursor {
 public:
  // Takes the cursor's lock and creates the file if there is none. kLocked, with the owner's pid,
  // if it is open; kNotFound if the folder holds no log, kNotALog if it holds another one than
  // `uuid` (zeros: any log). Destroying a new cursor that was never placed removes its file.
  static Result<std::unique_ptr<DurableCursor>> Open(FileSystem& file_system,
                                                     const std::string& path,
                                                     const std::string& name,
                                                     const LogUuid& uuid = {});
  ~DurableCursor();
  DurableCursor(const DurableCursor&) = delete;
  DurableCursor& operator=(const DurableCursor&) = delete;

  // nullopt before the first Place() of a new cursor, and if broken() is an error.
  std::optional<uint64_t> position() const;
  // The reason why the position cannot be read: damage of the file or of the list of cuts. Place()
  // repairs it.
  const Status& broken() const { return broken_; }

  // Looks for a cut, made since the last call, below the position or below `reached`, the seq up to
  // which the owner has read. Returns the log's next seq right after the deepest such cut; nullopt
  // if there was none; an error if the list of cuts cannot be read.
  Result<std::optional<uint64_t>> FindCut(uint64_t reached);
  // The newest cut's generation. It may be pending.
  Result<uint64_t> NewestGeneration() const;
  // CutList::Current(), for Place(): read it before choosing the position.
  Result<uint64_t> CurrentGeneration() const;

  // Moves the position forward, in memory; one that is not ahead changes nothing. Records below
  // `synced_end` are synced.
  Status Commit(uint64_t position, uint64_t synced_end);
  // Syncs the position, up to the end of the log's synced records, and returns the lowest position
  // that the cursor can have after a power cut. A failed sync returns kSyncFailed and is never
  // retried: later calls return kLatched.
  Result<uint64_t> Sync(uint64_t synced_end, bool full);
  // Sets the position, forward or back, and syncs it. The cuts up to `generation` are accounted
  // for. `checksum` is that of the record before the position, if it is known.
  Status Place(uint64_t position, uint64_t synced_end, uint64_t generation,
               std::optional<uint32_t> checksum = std::nullopt);
  // Of the newest record that was proven. Commits keep it.
  CursorProof proof() const;
  // Stores the proof, in memory and with the next Sync(), unless it is after the position. As
  // Sync(), returns kFileChanged if another program has moved, replaced or deleted the file.
  Status Prove(const CursorProof& proof);
  // The cursor exists from now on: others may rely on it. Stores the position once more, in memory,
  // if no owner has confirmed the cursor before.
  Status Confirm();
  // The creation of this new cursor has failed: its file is removed when it is destroyed.
  void Discard() { discarded_ = true; }

 private:
  DurableCursor(FileSystem& file_system, std::unique_ptr<Directory> directory, std::string name);

  Status Load(uint64_t log_first_seq);
  Status MakeFile();
  Status Map();
  Status EncodeNext(uint8_t bytes[kCursorSlotBytes]);
  Status StoreInMemory();
  Status Store(size_t slot, const uint8_t* bytes);
  Status SyncSlot(size_t slot, bool full);
  Status CheckName();
  Status Latch(Status cause);
  Status LatchedError() const;
  std::string path() const { return directory_->PathOf(name_); }

  FileSystem& file_system_;
  const std::unique_ptr<Directory> directory_;
  const std::string name_;  // of the file
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<File> file_;
  std::unique_ptr<Mapping> mapping_;  // null if commits use write()
  LogUuid uuid_{};
  Status broken_;

  mutable std::mutex mutex_;
  CursorSlot newest_;    // the content of the newest slot
  bool placed_ = false;  // the file is complete and holds a position
  bool confirmed_ = false;
  Status failure_;  // that has latched the cursor
  bool discarded_ = false;
  size_t memory_slot_ = 0;  // the next slot to store into
  size_t synced_slot_ = kFirstSyncedSlot;
};

}  // namespace durlog
