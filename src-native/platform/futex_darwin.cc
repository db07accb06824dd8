#include "platform/posix_futex.h"

namespace durlog {

// os_sync_wait_on_address() came with macOS 14.4; durlog runs on 11.
bool WaitOnSharedWord(void*, uint32_t, uint64_t) { return false; }

void WakeOnSharedWord(void*) {}

}  // namespace durlog
