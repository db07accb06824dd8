// The live page of a log with several writers: see docs/FORMAT.md. Usable from any thread.
#pragma once

#include <cstdint>
#include <memory>

#include "live/live_bell.h"
#include "live/live_page_layout.h"
#include "platform/file_system.h"

namespace durlog {

// Each member has a shared lock on the open file: the words are valid while any member is alive.
// Without a page, members write as usual, and readers read the segments.
class SharedLive {
 public:
  SharedLive() = default;
  SharedLive(const SharedLive&) = delete;
  SharedLive& operator=(const SharedLive&) = delete;

  // Opens the page, which the first member has made with LivePageWriter. `lineage` is the lineage
  // of the page that the other members use; 0 for the first member. Returns the page's lineage. If
  // this member cannot use the page, removes its name, so that no reader relies on it, and returns
  // 0.
  uint64_t Attach(FileSystem& file_system, Directory& directory, uint64_t lineage);

  // Releases this member's lock. The words stay valid while another member holds one.
  void Leave();

  // Call these only after the records have reached the level, or after the trim has been decided.
  void RaiseMemoryEnd(uint32_t slot, uint64_t end) { Raise(MemberEndWord(slot), end); }
  void RaiseSyncedEnd(uint64_t end) { Raise(kLiveSyncedEndWord, end); }
  void RaiseFirstSeq(uint64_t seq) { Raise(kLiveFirstSeqWord, seq); }
  // Wakes the readers that wait for a change.
  void Ring() {
    if (words_ != nullptr) LiveBell::RingIfAwaited(*mapping_);
  }

 private:
  uint64_t Lock(FileSystem& file_system, Directory& directory, uint64_t lineage);
  void Raise(size_t word, uint64_t value);

  std::unique_ptr<File> file_;
  std::unique_ptr<Mapping> mapping_;
  LiveAtomic* words_ = nullptr;
};

}  // namespace durlog
