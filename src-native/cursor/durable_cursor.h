// A position in a log that outlives its process: a file beside the segments, owned by one open at a
// time.
#ifndef DURLOG_CURSOR_DURABLE_CURSOR_H_
#define DURLOG_CURSOR_DURABLE_CURSOR_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cursor/cursor_slot.h"
#include "platform/file_system.h"

namespace durlog {

// A commit at `memory` is a store into a map of the file, and one write where the file system does
// not overwrite in place. A sync writes a slot of its own, so that nothing that comes after it and
// is lost can take it along.
//
// From any thread; Sync() and Place() one at a time.
class DurableCursor {
 public:
  // Takes the cursor's lock and makes the file where there is none: kLocked with the owner's pid.
  // kNotFound where the folder has no log. A cursor that is neither placed nor found leaves nothing
  // behind.
  static Result<std::unique_ptr<DurableCursor>> Open(FileSystem& file_system,
                                                     const std::string& path,
                                                     const std::string& name);
  ~DurableCursor();
  DurableCursor(const DurableCursor&) = delete;
  DurableCursor& operator=(const DurableCursor&) = delete;

  // Nothing before the first Place() of a new cursor, and where broken() says so.
  std::optional<uint64_t> position() const;
  // Why there is no position to go on from: damage of the file or of the list of cuts. Place()
  // mends it.
  const Status& broken() const { return broken_; }

  // Compares the position, and `reached` where that is higher, with what has been cut since they
  // were last compared; `reached` is what the owner has read up to. The log's next seq right after
  // the deepest cut below them; nothing where no cut reached them. The error where the cuts cannot
  // be read.
  Result<std::optional<uint64_t>> FindCut(uint64_t reached);
  // The newest cut's generation, for Place().
  Result<uint64_t> NewestGeneration() const;

  // Moves the position forward, in memory; one that is not ahead changes nothing. Records below
  // `synced_end` are synced.
  Status Commit(uint64_t position, uint64_t synced_end);
  // Brings the position to the device, as far as the log is synced: a power cut leaves it no lower
  // than the result. Never tried again where it fails: kSyncFailed, and kLatched from then on.
  Result<uint64_t> Sync(uint64_t synced_end, bool full);
  // Sets the position in both directions, durably. The cuts up to `generation` are behind it.
  Status Place(uint64_t position, uint64_t synced_end, uint64_t generation);

 private:
  DurableCursor(FileSystem& file_system, std::unique_ptr<Directory> directory, std::string name);

  Status Load(uint64_t log_first_seq);
  Status MakeFile();
  Status Map();
  Status Store(size_t slot, const uint8_t* bytes);
  Status SyncSlot(size_t slot, bool full);
  Status Latch(Status cause);
  static Status LatchedError();
  std::string path() const { return directory_->path() + "/" + name_; }

  FileSystem& file_system_;
  const std::unique_ptr<Directory> directory_;
  const std::string name_;  // of the file
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<File> file_;
  std::unique_ptr<Mapping> mapping_;  // null where it is written to
  LogUuid uuid_{};
  Status broken_;

  mutable std::mutex mutex_;
  CursorSlot newest_;    // what the newest slot holds
  bool placed_ = false;  // the file is whole and holds a position
  bool latched_ = false;
  size_t memory_slot_ = 0;  // the next one to be stored into
  size_t synced_slot_ = kFirstSyncedSlot;
};

}  // namespace durlog

#endif  // DURLOG_CURSOR_DURABLE_CURSOR_H_
