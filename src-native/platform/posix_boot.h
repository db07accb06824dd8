// Which boot of the system this is.
#ifndef DURLOG_PLATFORM_POSIX_BOOT_H_
#define DURLOG_PLATFORM_POSIX_BOOT_H_

#include <string>

#include "platform/file_system.h"

namespace durlog {

// Zeros where the system does not tell.
BootId SystemBoot();

// 32 hexadecimal digits, with hyphens anywhere between them; zeros for anything else.
BootId ParseBoot(const std::string& text);

}  // namespace durlog

#endif  // DURLOG_PLATFORM_POSIX_BOOT_H_
