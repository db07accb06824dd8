// Waiting for a word that several processes map.
#pragma once

#include <cstdint>

namespace durlog {

// As Mapping::WaitOn() and Mapping::WakeOn(), for the word at `address` of a shared mapping.
bool WaitOnSharedWord(void* address, uint32_t value, uint64_t micros);
void WakeOnSharedWord(void* address);

}  // namespace durlog
