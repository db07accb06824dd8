#include "platform/posix_reserve.h"

#include <unistd.h>

#include <utility>

namespace durlog {

PosixReserve::PosixReserve(SharedFd folder) : folder_(std::move(folder)) { Fill(); }

PosixReserve::~PosixReserve() {
  while (GiveUpOne()) continue;
}

void PosixReserve::Fill() {
  for (std::atomic<int>& slot : fds_) {
    if (slot.load() >= 0) continue;
    ScopedFd made = DuplicateFd(folder_.get());
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

void PosixReserve::TakeOver(ScopedFd file) {
  for (std::atomic<int>& slot : fds_) {
    if (slot.load() >= 0) continue;
    // The descriptor stays open if this fails.
    if (!ReplaceFd(file.get(), folder_.get())) return;
    int empty = -1;
    if (slot.compare_exchange_strong(empty, file.get())) {
      file.Release();
      return;
    }
  }
}

}  // namespace durlog
