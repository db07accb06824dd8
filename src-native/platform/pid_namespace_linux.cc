#include <sys/stat.h>

#include "platform/posix_pid_namespace.h"

namespace durlog {

uint32_t SystemPidNamespace() {
  struct stat info;
  return stat("/proc/self/ns/pid", &info) == 0 ? static_cast<uint32_t>(info.st_ino) : 0;
}

}  // namespace durlog
