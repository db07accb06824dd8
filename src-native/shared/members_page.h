// The file `shared` in a log's folder: words that all writers of a log map, and locks that show
// which writers are alive and what they are doing.
//
// Everything in the page can be derived from the segments: the first member of a log makes the page
// again. Almost every word only rises and is stored atomically, so a member that was stopped and
// then stores an old value does no harm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/owner_line.h"
#include "base/shared_word.h"
#include "platform/file_system.h"
#include "record/segment_header.h"
#include "recovery/shared_session.h"

namespace durlog {

inline constexpr size_t kSharedPageBytes = 4096;

enum class PageWord : size_t {
  kMagic = 0,
  kVersion = 1,
  kUuid = 2,  // two words
  kLiveLineage = 4,
  kSegmentBytes = 5,
  kSession = kSessionWord,  // the session's number; 0 once it has ended
  // The next groups are in separate cache lines, as members store them at different rates.
  kActiveFirst = 8,     // first seq of the segment that is appended to
  kCommittedFirst = 9,  // first seq of a segment: all segments before it are whole
  kRotations = 10,
  kLatched = 11,     // not 0 once a sync has failed
  kSpare = 12,       // the spare's base time plus one; 0 if there is none: see spare_making.h
  kFirstSeq = 13,    // of the log
  kNewestTime = 14,  // see RaiseTime()
  kSyncedEnd = 16,
  kFullEnd = 17,
  kSyncedFirst = 18,      // first seq of a segment: all segments before it are synced
  kNamesFirst = 19,       // first seq of a segment: its name and all earlier ones are synced
  kSyncedRotations = 20,  // the value of kRotations at the last sync
  kAsyncEnd = 21,         // every earlier record is synced, or its writeback has been started
  kTrustedEnd =
      22,  // end of the records synced by a member that trusts its own syncs: see ReadBack
  kRecoveredEnd = 23,  // see RecoveredEnd()
  kSyncBell = 24,      // its low half rises when a sync for all has ended
  kPids = 32,          // processes of the members, by slot
  kLockOwners = 288,   // processes, by PageLock: for messages and events only
};

// Bytes of the file that one member at a time locks; the file may be shorter.
enum class PageLock : uint64_t {
  kJoin = 8192,      // to join, to leave, to recover
  kRotate = 8193,    // to make the next segment's file and to give it its name
  kSync = 8195,      // to sync for all
  kTrim = 8196,      // to remove segments
  kFirstSlot = 8448  // and one byte for each slot
};

class MembersPage {
 public:
  // Opens the file, or makes it. The page is not mapped yet. `process` is the caller's.
  static Result<std::unique_ptr<MembersPage>> Open(Directory& directory, OwnerProcess process = {});

  // The locks belong to this open of the file. Each member opens the file once.
  Result<bool> TryLock(PageLock lock);
  void Unlock(PageLock lock);
  // The process of the other member that has the lock; 0 if it is not known, or if its id belongs
  // to another PID namespace. nullopt if no other member has the lock.
  std::optional<int64_t> OtherOwnerOf(PageLock lock);
  Result<bool> TryLockSlot(uint32_t slot);
  void UnlockSlot(uint32_t slot);
  // Whether another member has the slot. True if this cannot be determined.
  bool IsSlotTaken(uint32_t slot);
  void NoteSlotOwner(uint32_t slot);
  void ForgetSlotOwner(uint32_t slot);
  bool HasSlotOwner(uint32_t slot) { return OwnerWord(slot).load(std::memory_order_relaxed) != 0; }
  // The process of the slot's member, 0 as for OtherOwnerOf().
  int64_t SlotOwner(uint32_t slot) { return ProcessIdIn(OwnerWord(slot).load()); }

  // The number of the session in the page, which need not be mapped; 0 if there is none.
  Result<uint64_t> ReadSession();
  // While no other member is alive: makes an empty page for the log `uuid` and a new session.
  Status Make(const LogUuid& uuid, uint64_t segment_bytes, uint64_t session);
  // While another member is alive: maps the page that the members use. kIo if there is none.
  Status Join();
  // The error for members that use another page than this one.
  Status Replaced() const;
  // While no other member is alive, and the page is mapped: no process can join any more.
  void EndSession() { Word(PageWord::kSession).store(0, std::memory_order_release); }
  bool is_mapped() const { return mapping_ != nullptr; }

  SharedWord& Word(PageWord word) { return words_[static_cast<size_t>(word)]; }
  uint64_t Load(PageWord word) { return Word(word).load(std::memory_order_acquire); }
  void Raise(PageWord word, uint64_t value) { RaiseWord(Word(word), value); }
  // The time for a record that is about to be reserved in the segment of `first_seq`, in
  // milliseconds since the segment's base time: `time_ms`, or the newest time that any member has
  // got for that segment, if that is later. The caller must have seen every earlier reservation,
  // and must call again if another reservation comes first. So times in a segment never decrease.
  uint32_t RaiseTime(uint64_t first_seq, uint32_t time_ms);
  // For the first member: `time_ms` is the newest time in the segment of `first_seq`.
  void SetTime(uint64_t first_seq, uint32_t time_ms);
  // The name of the file for the next rotation. If a member dies while it makes the file, the next
  // member that makes it removes the incomplete file.
  std::string NextSpareName();
  // The end of the log when the first member had recovered it, if every record was on the device
  // then and the page cache held no other bytes; otherwise a seq that no record has.
  uint64_t RecoveredEnd() { return Load(PageWord::kRecoveredEnd) - 1; }
  LogUuid Uuid();

  // Waits until RingSyncBell() is called after `count` was loaded, or for `micros`.
  uint32_t SyncBell();
  void WaitForSyncBell(uint32_t count, uint64_t micros);
  void RingSyncBell();

  // The identity of the file, which may have been renamed or removed since.
  Result<FileId> Id() { return file_->Id(); }

  // Once true, stores to the page are lost.
  bool faulted() const { return mapping_->faulted(); }

 private:
  MembersPage(std::unique_ptr<File> file, std::string path, OwnerProcess process)
      : file_(std::move(file)), path_(std::move(path)), process_(process) {}
  Status Map();
  void NoteOwner(PageLock lock, uint64_t process);
  SharedWord& OwnerWord(uint32_t slot) {
    return words_[static_cast<size_t>(PageWord::kPids) + slot];
  }
  uint64_t ProcessWord() const;
  int64_t ProcessIdIn(uint64_t word) const;

  const std::unique_ptr<File> file_;
  const std::string path_;
  const OwnerProcess process_;
  std::unique_ptr<Mapping> mapping_;
  SharedWord* words_ = nullptr;
};

// Unlocks a lock that the caller has taken.
class PageLockRelease {
 public:
  PageLockRelease(MembersPage& page, PageLock lock) : page_(page), lock_(lock) {}
  ~PageLockRelease() { page_.Unlock(lock_); }
  PageLockRelease(const PageLockRelease&) = delete;
  PageLockRelease& operator=(const PageLockRelease&) = delete;

 private:
  MembersPage& page_;
  const PageLock lock_;
};

}  // namespace durlog
