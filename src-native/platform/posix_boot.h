// Which boot of the system this is.
#pragma once

#include <string>

#include "platform/file_system.h"

namespace durlog {

// Zeros where the system does not tell.
BootId SystemBoot();

// 32 hexadecimal digits, with hyphens anywhere between them; zeros for anything else.
BootId ParseBoot(const std::string& text);

}  // namespace durlog
