#include "platform/posix_reserve.h"

#include <unistd.h>

#include "platform/posix_fd.h"

namespace durlog {

PosixReserve::~PosixReserve() {
  while (GiveUpOne()) continue;
}

void PosixReserve::Fill(int fd) {
  for (std::atomic<int>& slot : fds_) {
    if (slot.load() >= 0) continue;
    ScopedFd made = DuplicateFd(fd);
    if (!made.valid()) return;
    int empty = -1;
    if (slot.compare_exchange_strong(empty, made.get())) made.Release();
  }
}

bool PosixReserve::GiveUpOne() {
  for (std::atomic<int>& slot : fds_) {
    const ScopedFd given_up(slot.exchange(-1));
    if (given_up.valid()) return true;
  }
  return false;
}

}  // namespace durlog
