// The live page of a log with several writers: see docs/FORMAT.md. From any thread.
#pragma once

#include <cstdint>
#include <memory>

#include "live/live_bell.h"
#include "live/live_page_layout.h"
#include "platform/file_system.h"

namespace durlog {

// Each member has a shared lock on the open file: the words count while any member lives.
// Without a page the members write as usual, and readers read the segments.
class SharedLive {
 public:
  SharedLive() = default;
  SharedLive(const SharedLive&) = delete;
  SharedLive& operator=(const SharedLive&) = delete;

  // The first member has made the page by LivePageWriter. `lineage` is that of the page which the
  // other members use; 0 for the first member. Returns the page's lineage, 0 without a page.
  uint64_t Attach(FileSystem& file_system, Directory& directory, uint64_t lineage);

  // This member no longer vouches for the words.
  void Leave();

  // To be called after the claim has become true.
  void RaiseMemoryEnd(uint64_t end) { Raise(kLiveMemoryEndWord, end); }
  void RaiseSyncedEnd(uint64_t end) { Raise(kLiveSyncedEndWord, end); }
  void RaiseFirstSeq(uint64_t seq) { Raise(kLiveFirstSeqWord, seq); }
  // Wakes the readers that wait for news.
  void Ring() {
    if (words_ != nullptr) LiveBell::RingIfAwaited(*mapping_);
  }

 private:
  void Raise(LiveWord word, uint64_t value);

  std::unique_ptr<File> file_;
  std::unique_ptr<Mapping> mapping_;
  LiveAtomic* words_ = nullptr;
};

}  // namespace durlog
