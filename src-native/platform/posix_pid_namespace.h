// The namespace that the process ids of this process belong to.
#pragma once

#include <cstdint>

namespace durlog {

// 0 if the system has no such namespaces or does not say which one it is.
uint32_t SystemPidNamespace();

}  // namespace durlog
