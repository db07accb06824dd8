// Waiting for a word that several processes map.
#ifndef DURLOG_PLATFORM_POSIX_FUTEX_H_
#define DURLOG_PLATFORM_POSIX_FUTEX_H_

#include <cstdint>

namespace durlog {

// As Mapping::WaitOn() and Mapping::WakeOn(), for the word at `address` of a shared mapping.
bool WaitOnSharedWord(void* address, uint32_t value, uint64_t micros);
void WakeOnSharedWord(void* address);

}  // namespace durlog

#endif  // DURLOG_PLATFORM_POSIX_FUTEX_H_
