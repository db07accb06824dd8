// The namespace that the process ids of this process belong to.
#ifndef DURLOG_PLATFORM_POSIX_PID_NAMESPACE_H_
#define DURLOG_PLATFORM_POSIX_PID_NAMESPACE_H_

#include <cstdint>

namespace durlog {

// 0 if the system has no such namespaces or does not say which one it is.
uint32_t SystemPidNamespace();

}  // namespace durlog

#endif  // DURLOG_PLATFORM_POSIX_PID_NAMESPACE_H_
