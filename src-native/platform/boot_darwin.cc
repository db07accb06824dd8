#include <sys/sysctl.h>
#include <sys/types.h>

#include "platform/posix_boot.h"

namespace durlog {

BootId SystemBoot() {
  char text[64] = {};
  size_t length = sizeof text - 1;
  if (sysctlbyname("kern.bootsessionuuid", text, &length, nullptr, 0) != 0) return BootId{};
  return ParseBoot(text);
}

}  // namespace durlog
