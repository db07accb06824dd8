#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "platform/posix_fd.h"
#include "platform/thread.h"

namespace durlog {

// The file has three numbers: the time on a processor, the time of waiting for one (both in
// nanoseconds), and the number of time slices. The kernel documents it in scheduler/sched-stats.
std::optional<std::chrono::nanoseconds> ThreadDelay() {
  const ScopedFd fd(
      RetryInterrupted([] { return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC); }));
  char text[96] = {};
  if (!fd.valid() || RetryInterrupted([&] { return read(fd.get(), text, sizeof text - 1); }) <= 0) {
    return std::nullopt;
  }
  char* after_first = nullptr;
  static_cast<void>(std::strtoll(text, &after_first, 10));
  char* after_second = nullptr;
  const long long waited = std::strtoll(after_first, &after_second, 10);
  if (after_second == after_first) return std::nullopt;
  return std::chrono::nanoseconds(waited);
}

}  // namespace durlog
