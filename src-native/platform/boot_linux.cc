#include <fcntl.h>
#include <unistd.h>

#include "platform/posix_boot.h"
#include "platform/posix_fd.h"

namespace durlog {

BootId SystemBoot() {
  const ScopedFd fd(RetryInterrupted(
      [] { return open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC); }));
  char text[64] = {};
  if (!fd.valid() || RetryInterrupted([&] { return read(fd.get(), text, sizeof text - 1); }) <= 0) {
    return BootId{};
  }
  return ParseBoot(text);
}

}  // namespace durlog
