// Descriptors that a log keeps for the time when its process has no free one.
#pragma once

#include <array>
#include <atomic>

#include "platform/posix_fd.h"

namespace durlog {

// May be used by several threads.
class PosixReserve {
 public:
  // Keeps duplicates of `folder`.
  explicit PosixReserve(SharedFd folder);
  ~PosixReserve();
  PosixReserve(const PosixReserve&) = delete;
  PosixReserve& operator=(const PosixReserve&) = delete;

  // Duplicates the folder until the reserve is full or the process has no free descriptor.
  void Fill();
  // Closes one descriptor, so that the next call that opens a file may get it. False if the reserve
  // is empty.
  bool GiveUpOne();
  // Closes the file and keeps its descriptor, unless the reserve is full. The descriptor is never
  // free meanwhile: a server that waits for one to accept a connection does not get it.
  void TakeOver(ScopedFd file);

 private:
  const SharedFd folder_;
  // A segment takes two: one for direct writes. Another thread may take one between the call that
  // gives it up and the call that opens a file.
  std::array<std::atomic<int>, 3> fds_ = {-1, -1, -1};
};

}  // namespace durlog
