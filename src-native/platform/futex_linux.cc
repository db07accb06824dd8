#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "platform/posix_futex.h"

namespace durlog {

// Not the private variants: the word is looked up by its file and not by its address. A signal ends
// the wait early, as the time does.
bool WaitOnSharedWord(void* address, uint32_t value, uint64_t micros) {
  struct timespec timeout = {};
  timeout.tv_sec = static_cast<time_t>(micros / 1000000);
  timeout.tv_nsec = static_cast<long>(micros % 1000000 * 1000);
  if (syscall(SYS_futex, address, FUTEX_WAIT, value, &timeout, nullptr, 0) == 0) return true;
  return errno == EAGAIN || errno == ETIMEDOUT || errno == EINTR;
}

void WakeOnSharedWord(void* address) {
  static_cast<void>(syscall(SYS_futex, address, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0));
}

}  // namespace durlog
