// Keeps a process alive if a store into a mapped file meets a page that the kernel cannot provide:
// another program truncated the file, an I/O error, a full disk below a sparse file.
//
// A process-wide SIGBUS handler, installed with the first watched range, looks up the address. In a
// watched range, it maps a private page of zeros at the place of the fault, sets the range's flag
// and returns: the store goes into this dead page, and the program continues and finds the flag.
// Any other SIGBUS is passed to the previous handler, or ends the process as it would have.
//
// A handler that is installed later and does not call the previous one disables this protection.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/status.h"

namespace durlog {

struct WatchedSlot;

// Guards a range of mapped pages while this object exists. Destroy it before unmapping, because the
// addresses may be reused at once. Unmapping the whole range also removes the dead pages.
class FaultGuard {
 public:
  // The number of ranges that one process can watch at a time.
  static constexpr size_t kCapacity = 4096;

  // `start` and `size` are multiples of the page size. kOutOfMemory when kCapacity are watched.
  static Result<FaultGuard> Watch(void* start, size_t size);

  FaultGuard(FaultGuard&& other) noexcept;
  FaultGuard& operator=(FaultGuard&& other) noexcept;
  ~FaultGuard() { Release(); }

  void Release();
  // Whether a page of the range was replaced. From any thread.
  bool faulted() const;
  // The flag that faulted() returns, valid while the range is watched. Never null.
  const std::atomic<bool>* flag() const;

 private:
  explicit FaultGuard(WatchedSlot* slot) : slot_(slot) {}
  WatchedSlot* slot_;
};

// The system's page size, which is queried once.
size_t PageBytes();

}  // namespace durlog
