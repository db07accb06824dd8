#include "platform/posix_pid_namespace.h"

namespace durlog {

uint32_t SystemPidNamespace() { return 0; }

}  // namespace durlog
