// Probes the file system that holds an open folder: one implementation for each system.
#pragma once

#include <string>

#include "platform/file_system.h"

namespace durlog {

Result<Capabilities> ProbeDirectory(int fd, const std::string& path);

}  // namespace durlog
