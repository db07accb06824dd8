// The writer's side of the page by which readers in other processes know how far they may read.
//
// The words count for as long as a process holds the lock on the page's file: the system lets go of
// it when the process dies. Without a page everything works by the segments alone.
#ifndef DURLOG_LIVE_LIVE_PAGE_WRITER_H_
#define DURLOG_LIVE_LIVE_PAGE_WRITER_H_

#include <array>
#include <cstdint>
#include <memory>

#include "live/live_bell.h"
#include "live/live_page_layout.h"
#include "platform/file_system.h"
#include "record/segment_header.h"

namespace durlog {

// Used by one thread at a time. Stores go nowhere until Attach() has found a page.
class LivePageWriter {
 public:
  LivePageWriter() : words_(nowhere_.data()) {}
  LivePageWriter(const LivePageWriter&) = delete;
  LivePageWriter& operator=(const LivePageWriter&) = delete;

  // Finds or makes the page of the log `uuid` in `directory`, which must outlive this. The caller
  // holds the log's lock and has changed nothing yet. Where there can be no page, none is left that
  // readers could go by.
  void Attach(FileSystem& file_system, Directory& directory, const Capabilities& capabilities,
              const LogUuid& uuid);
  // The log is going to end at `next_seq`; `cuts` where whole records go. Before a file changes.
  void BeginRecovery(uint64_t next_seq, bool cuts);
  // From here on the words count. After StoreEnds().
  void Announce(FileSystem& file_system);

  // Before the files change: a reader that sees any of the change sees the new generation too.
  void Cut(uint64_t next_seq);
  // After what they claim has become true.
  void StoreMemoryEnd(uint64_t memory_end) {
    words_[kLiveMemoryEndWord].store(memory_end, std::memory_order_release);
  }
  void StoreEnds(uint64_t first_seq, uint64_t memory_end, uint64_t synced_end);
  void StoreFirstSeq(uint64_t first_seq) {
    words_[kLiveFirstSeqWord].store(first_seq, std::memory_order_release);
  }
  // A commit has ended that took so long.
  void NoteCommit(uint64_t micros) {
    words_[kLiveCommitMicrosWord].store(Load(kLiveCommitMicrosWord) + micros,
                                        std::memory_order_relaxed);
    words_[kLiveCommitsWord].store(Load(kLiveCommitsWord) + 1, std::memory_order_release);
  }
  // Wakes the readers that wait for news, if any does. After what is new has been stored.
  void Ring() {
    if (mapping_) LiveBell::RingIfAwaited(*mapping_);
  }
  // Gives the page up where a store met one that could not be had: the words are stale then.
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

#endif  // DURLOG_LIVE_LIVE_PAGE_WRITER_H_
