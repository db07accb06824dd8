// The log's live page as its several writers keep it: see docs/FORMAT.md. From any thread.
#ifndef DURLOG_SHARED_SHARED_LIVE_H_
#define DURLOG_SHARED_SHARED_LIVE_H_

#include <cstdint>
#include <memory>

#include "live/live_bell.h"
#include "live/live_page_layout.h"
#include "platform/file_system.h"

namespace durlog {

// Each member has the file open and a shared lock on it: its words count while any member lives.
// Without a page the members write all the same, and readers go by the segments.
class SharedLive {
 public:
  SharedLive() = default;
  SharedLive(const SharedLive&) = delete;
  SharedLive& operator=(const SharedLive&) = delete;

  // The page is what LivePageWriter has left in order. `lineage` is that of the page which the
  // other members use; 0 for the first member. Returns the page's, 0 where there is none.
  uint64_t Attach(FileSystem& file_system, Directory& directory, uint64_t lineage);

  // The words count for this member no more.
  void Leave();

  // After what they claim has become true.
  void RaiseMemoryEnd(uint64_t end) { Raise(kLiveMemoryEndWord, end); }
  void RaiseSyncedEnd(uint64_t end) { Raise(kLiveSyncedEndWord, end); }
  void RaiseFirstSeq(uint64_t seq) { Raise(kLiveFirstSeqWord, seq); }
  // Wakes the readers that wait for news, if any does.
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

#endif  // DURLOG_SHARED_SHARED_LIVE_H_
