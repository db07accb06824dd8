// Probes the file system that holds an open folder: one implementation for each system.
#ifndef DURLOG_PLATFORM_POSIX_PROBE_H_
#define DURLOG_PLATFORM_POSIX_PROBE_H_

#include <string>

#include "platform/file_system.h"

namespace durlog {

Result<Capabilities> ProbeDirectory(int fd, const std::string& path);

}  // namespace durlog

#endif  // DURLOG_PLATFORM_POSIX_PROBE_H_
