// Descriptors that a log keeps for the time when its process has no free one.
#pragma once

#include <array>
#include <atomic>

namespace durlog {

// May be used by several threads.
class PosixReserve {
 public:
  PosixReserve() = default;
  ~PosixReserve();
  PosixReserve(const PosixReserve&) = delete;
  PosixReserve& operator=(const PosixReserve&) = delete;

  // Duplicates `fd` until the reserve is full or the process has no free descriptor.
  void Fill(int fd);
  // Closes one descriptor, so that the next call that opens a file may get it. False if the reserve
  // is empty.
  bool GiveUpOne();

 private:
  // A segment takes two: one for direct writes. A worker that looks into the folder may meanwhile
  // take one that a sealed segment has given back.
  std::array<std::atomic<int>, 3> fds_ = {-1, -1, -1};
};

}  // namespace durlog
