// The running system's identity, clock and random bits: one implementation for each system.
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

}  // namespace durlog
