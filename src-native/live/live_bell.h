// How the writer of a log wakes readers in other processes and threads that wait for its next
// record.
//
// A reader reads the bell's count, sets the waiting word, checks the page once more, and then waits
// while the count stays the same. The writer stores the new end and then checks the waiting word.
// Both change that word, so one of them is first: either the reader's check finds the new end, or
// the writer finds the reader. A reader that dies leaves the word set, which costs one wake.
#pragma once

#include <cstdint>
#include <memory>

#include "live/live_page_layout.h"
#include "platform/file_system.h"

namespace durlog {

// The bell of a page that is mapped for writing. From any thread.
class LiveBell {
 public:
  // Opens the bell of the page that currently has the name `live`. Null if that page is not `page`,
  // or is not writable.
  static std::unique_ptr<LiveBell> Open(Directory& directory, const FileId& page);

  // Call it before the last check of the page. Returns the count to wait on.
  uint32_t Prepare();
  // Returns when the count is no longer `count`, after `micros`, or spuriously. False if the system
  // cannot wait for another process; it has then not waited.
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
