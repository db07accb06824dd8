// The running system's identity, clock, random bits and limits: one implementation for each system.
#pragma once

#include <cstdint>
#include <string>

#include "platform/file_system.h"

namespace durlog {

// Zeros if the system does not report which boot this is.
BootId SystemBoot();

// 32 hexadecimal digits, with hyphens anywhere between them; zeros for anything else.
BootId ParseBoot(const std::string& text);

// Milliseconds since the Unix epoch, from the system's cheapest clock.
uint64_t WallClockMs();

// The PID namespace of this process. 0 if the system has no such namespaces or does not report it.
uint32_t SystemPidNamespace();

uint64_t SystemRandom64();

// RLIMIT_FSIZE: after this, a write, truncation or allocation by the calling thread that passes the
// limit fails with EFBIG instead of raising SIGXFSZ, which would end the process. Cheap enough to
// call before each of them.
void ExpectFileSizeLimit();

// Whether the limit lies below `end`, the first byte after a write.
bool PassesFileSizeLimit(uint64_t end);

}  // namespace durlog
