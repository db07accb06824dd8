#include <time.h>

#include "platform/posix_clock.h"

namespace durlog {

uint64_t WallClockMs() {
  // A tick late at most (1 to 10 ms), and a few nanoseconds cheap: it is read for each append.
  struct timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1000000;
}

}  // namespace durlog
