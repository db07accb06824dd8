#include <signal.h>
#include <stdlib.h>
#include <sys/sysctl.h>
#include <sys/types.h>
#include <time.h>

#include "platform/posix_system.h"

namespace durlog {
namespace {

// Only if the program has no handler for the signal: a handler keeps the process alive.
bool IgnoreUnlessHandled() {
  struct sigaction current;
  if (sigaction(SIGXFSZ, nullptr, &current) != 0) return false;
  if ((current.sa_flags & SA_SIGINFO) != 0 || current.sa_handler != SIG_DFL) return true;
  current.sa_handler = SIG_IGN;
  return sigaction(SIGXFSZ, &current, nullptr) == 0;
}

}  // namespace

BootId SystemBoot() {
  char text[64] = {};
  size_t length = sizeof text - 1;
  if (sysctlbyname("kern.bootsessionuuid", text, &length, nullptr, 0) != 0) return BootId{};
  return ParseBoot(text);
}

uint64_t WallClockMs() {
  // The clock is read from a page that the kernel shares, without a system call. A coarser clock
  // would not be cheaper.
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1000000;
}

uint32_t SystemPidNamespace() { return 0; }

uint64_t SystemRandom64() {
  uint64_t value;
  arc4random_buf(&value, sizeof value);
  return value;
}

void ExpectFileSizeLimit() {
  // macOS sends SIGXFSZ to the process, not to the thread that wrote: blocking it in one thread
  // would let it kill in another.
  static const bool ignored = IgnoreUnlessHandled();
  (void)ignored;
}

}  // namespace durlog
