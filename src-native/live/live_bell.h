// How the writer of a log wakes readers in other processes and threads that wait for its next
// record.
//
// A reader takes the bell's count, says that it waits, looks at the page once more and then waits
// for as long as the count stays the same. The writer stores what is new and then looks whether a
// reader waits. Both change the same word, one of them first: either the reader's look finds what
// is new, or the writer finds the reader. A reader that dies leaves its word behind, which costs
// one wake.
#ifndef DURLOG_LIVE_LIVE_BELL_H_
#define DURLOG_LIVE_LIVE_BELL_H_

#include <cstdint>
#include <memory>

#include "live/live_page_layout.h"
#include "platform/file_system.h"

namespace durlog {

// The bell of a page that is mapped for writing. From any thread.
class LiveBell {
 public:
  // The bell of the page that is called `live` now. Null where that page is not `page`, or may not
  // be written to.
  static std::unique_ptr<LiveBell> Open(Directory& directory, const FileId& page);

  // Before the last look at the page; the count to wait on.
  uint32_t Prepare();
  // Returns when the count is `count` no more, after `micros`, or for no reason. False where the
  // system cannot wait for another process: nothing has been waited for.
  bool Wait(uint32_t count, uint64_t micros);
  void Ring() { RingOn(*mapping_); }

  // Called after the new end has been stored. Adding 0 is a store too, so it is ordered either
  // before or after the store in Prepare().
  static void RingIfAwaited(Mapping& mapping) {
    if (WaitingOf(mapping).fetch_add(0, std::memory_order_acq_rel) != 0) RingOn(mapping);
  }

 private:
  explicit LiveBell(std::unique_ptr<Mapping> mapping) : mapping_(std::move(mapping)) {}

  static LiveAtomic& WaitingOf(Mapping& mapping) {
    return reinterpret_cast<LiveAtomic*>(mapping.data())[kLiveWaitingWord];
  }
  static LiveBellAtomic& CountOf(Mapping& mapping) {
    return reinterpret_cast<LiveBellAtomic*>(mapping.data())[2 * kLiveBellWord];
  }
  static void RingOn(Mapping& mapping);

  const std::unique_ptr<Mapping> mapping_;
};

}  // namespace durlog

#endif  // DURLOG_LIVE_LIVE_BELL_H_
