// Keeps a process alive whose store into a mapped file meets a page that the kernel cannot give:
// file truncated by another program, I/O error, full disk below a sparse file.
//
// A process-wide SIGBUS handler, installed with the first watched range, looks the address up. In
// a watched range it puts a private zero page where the fault was, raises the range's flag and
// returns: the store goes into the dead page and the program runs on, to find the flag. Any other
// SIGBUS goes to the handler that was there before, or kills as it would have.
//
// A handler that is installed later and does not chain takes this protection away.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/status.h"

namespace durlog {

struct WatchedSlot;

// A range of mapped pages under guard for as long as this object lives. Destroy it before
// unmapping: the addresses may be reused at once. Unmapping the whole range removes the dead pages
// too.
class FaultGuard {
 public:
  // How many ranges can be watched at a time in one process.
  static constexpr size_t kCapacity = 4096;

  // `start` and `size` are multiples of the page size. kOutOfMemory when kCapacity are watched.
  static Result<FaultGuard> Watch(void* start, size_t size);

  FaultGuard(FaultGuard&& other) noexcept;
  FaultGuard& operator=(FaultGuard&& other) noexcept;
  ~FaultGuard() { Release(); }

  void Release();
  // Whether a page of the range was replaced. From any thread.
  bool faulted() const;
  // What faulted() returns, while the range is watched. Never null.
  const std::atomic<bool>* flag() const;

 private:
  explicit FaultGuard(WatchedSlot* slot) : slot_(slot) {}
  WatchedSlot* slot_;
};

// The system's page size, asked once.
size_t PageBytes();

}  // namespace durlog
