// The writer's side of the live page, which shows readers in other processes how far they may read.
//
// The page's words are valid while a process holds the lock on its file; the system releases the
// lock when the process dies. Without a page, readers read the segments alone.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "live/live_bell.h"
#include "live/live_page_layout.h"
#include "platform/file_system.h"
#include "record/segment_header.h"

namespace durlog {

// Used by one thread at a time. Stores have no effect until Attach() has found a page.
class LivePageWriter {
 public:
  LivePageWriter() : words_(nowhere_.data()) {}
  LivePageWriter(const LivePageWriter&) = delete;
  LivePageWriter& operator=(const LivePageWriter&) = delete;

  // Finds or makes the page of the log `uuid` in `directory`, which must outlive this object. The
  // caller holds the log's lock and has changed no file yet. If no page can be made, no page is
  // left that readers could use.
  void Attach(FileSystem& file_system, Directory& directory, const Capabilities& capabilities,
              const LogUuid& uuid);
  // Announces that the log will end at `next_seq`; `cuts` is true if whole records will be removed.
  // Call it before a file changes.
  void BeginRecovery(uint64_t next_seq, bool cuts);
  // Makes the words valid. Call it after StoreEnds().
  void Announce(FileSystem& file_system);

  // Call it before the files change, so that a reader that sees any of the change sees the new
  // generation too.
  void Cut(uint64_t next_seq);
  // Call the stores below only once their values are true.
  void StoreMemoryEnd(uint64_t memory_end) {
    words_[kLiveMemoryEndWord].store(memory_end, std::memory_order_release);
  }
  void StoreEnds(uint64_t first_seq, uint64_t memory_end, uint64_t synced_end);
  void StoreFirstSeq(uint64_t first_seq) {
    words_[kLiveFirstSeqWord].store(first_seq, std::memory_order_release);
  }
  // Notes a commit that has ended and took `micros`.
  void NoteCommit(uint64_t micros) {
    words_[kLiveCommitMicrosWord].store(Load(kLiveCommitMicrosWord) + micros,
                                        std::memory_order_relaxed);
    words_[kLiveCommitsWord].store(Load(kLiveCommitsWord) + 1, std::memory_order_release);
  }
  // Wakes the waiting readers, if there are any. Call it after the new ends have been stored.
  void Ring() {
    if (mapping_) LiveBell::RingIfAwaited(*mapping_);
  }
  // Gives the page up if a store into it has failed for lack of memory or a block: the words are
  // stale then.
  void CheckStores() {
    if (mapping_ && mapping_->faulted()) GiveUp();
  }

 private:
  bool MapPage(File& file, const LogUuid& uuid);
  bool MakePage(FileSystem& file_system, Directory& directory, const LogUuid& uuid);
  uint64_t Load(size_t word) const { return words_[word].load(std::memory_order_relaxed); }
  void GiveUp();
  void LowerTo(size_t word, uint64_t limit);

  std::array<LiveAtomic, kLiveWords> nowhere_{};
  Directory* directory_ = nullptr;  // while there is a page that has not been given up
  std::unique_ptr<File> file_;
  std::unique_ptr<Mapping> mapping_;
  std::unique_ptr<FileLock> lock_;
  LiveAtomic* words_;
};

}  // namespace durlog
