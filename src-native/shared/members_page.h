// The file `shared` in a log's folder: words that all writers of a log map, and the locks by which
// they know of each other.
//
// It holds nothing that the segments do not: it is made anew by whoever opens the log while no
// member is alive. Each word only ever rises, and is stored in one piece, so that a member that was
// stopped with an old value in hand can do no harm.
#ifndef DURLOG_SHARED_MEMBERS_PAGE_H_
#define DURLOG_SHARED_MEMBERS_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/shared_word.h"
#include "platform/file_system.h"
#include "record/segment_header.h"

namespace durlog {

inline constexpr char kSharedName[] = "shared";
inline constexpr size_t kSharedPageBytes = 4096;

enum class PageWord : size_t {
  kMagic = 0,
  kVersion = 1,
  kUuid = 2,  // two words
  kLiveLineage = 4,
  kSegmentBytes = 5,
  // Cache lines of their own, by who stores them how often.
  kActiveFirst = 8,     // first seq of the segment that is appended to
  kCommittedFirst = 9,  // of a segment: all before it is whole
  kRotations = 10,
  kLatched = 11,   // not 0 once a sync has failed
  kSpare = 12,     // what names the next segment's file until then; 0 for none
  kFirstSeq = 13,  // of the log
  kSyncedEnd = 16,
  kFullEnd = 17,
  kSyncedFirst = 18,      // of a segment: all before it is synced
  kNamesFirst = 19,       // of a segment: its name and all before it are synced
  kSyncedRotations = 20,  // of kRotations, at the last sync
  kAsyncEnd = 21,         // writeback has been started of all in front of it, or it is synced
  kSyncBell = 24,         // its low half goes up when a leader is through
  kPids = 32,             // of the members, by slot
  kLockOwners = 288,      // process ids, by PageLock: for messages and events only
};

// Bytes of the file that are locked by one member at a time; they need not exist.
enum class PageLock : uint64_t {
  kJoin = 8192,      // to join, to leave, to recover
  kRotate = 8193,    // to give the next segment its name
  kSpare = 8194,     // to make a spare
  kSync = 8195,      // to sync for all
  kTrim = 8196,      // to remove segments
  kFirstSlot = 8448  // and one for each slot
};

class MembersPage {
 public:
  // Opens the file, or makes it. The page is not mapped yet. What this member locks is said to be
  // locked by `process_id`.
  static Result<std::unique_ptr<MembersPage>> Open(Directory& directory, int64_t process_id = 0);

  // Of this open of the file: a member has one of its own.
  Result<bool> TryLock(PageLock lock);
  void Unlock(PageLock lock);
  // The process of the member that has it, 0 if that is not known. Nothing where no other member
  // has it.
  std::optional<int64_t> OtherOwnerOf(PageLock lock);
  Result<bool> TryLockSlot(uint32_t slot);
  void UnlockSlot(uint32_t slot);
  // Whether another member has the slot. A member that cannot be asked for counts as alive.
  bool IsSlotTaken(uint32_t slot);

  // Under kJoin, while no other member is alive: a page of zeros but for what it is of.
  Status Make(const LogUuid& uuid, uint64_t segment_bytes);
  // Under kJoin: maps the page that the other members use. kIo where it is none.
  Status Join();

  SharedWord& Word(PageWord word) { return words_[static_cast<size_t>(word)]; }
  uint64_t Load(PageWord word) { return Word(word).load(std::memory_order_acquire); }
  void Raise(PageWord word, uint64_t value) { RaiseWord(Word(word), value); }
  SharedWord& PidOf(uint32_t slot) { return words_[static_cast<size_t>(PageWord::kPids) + slot]; }
  LogUuid Uuid();

  // Waits until RingSyncBell() is called after `count` was loaded, or for `micros`.
  uint32_t SyncBell();
  void WaitForSyncBell(uint32_t count, uint64_t micros);
  void RingSyncBell();

  // What is stored goes nowhere any more.
  bool faulted() const { return mapping_->faulted(); }

 private:
  MembersPage(std::unique_ptr<File> file, std::string path, int64_t process_id)
      : file_(std::move(file)), path_(std::move(path)), process_id_(process_id) {}
  Status Map();
  void NoteOwner(PageLock lock, uint64_t process_id);

  const std::unique_ptr<File> file_;
  const std::string path_;
  const int64_t process_id_;
  std::unique_ptr<Mapping> mapping_;
  SharedWord* words_ = nullptr;
};

}  // namespace durlog

#endif  // DURLOG_SHARED_MEMBERS_PAGE_H_
