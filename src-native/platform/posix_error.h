// Errors of calls that take a name, with the codes that the layers above distinguish.
#pragma once

#include <string>

#include "base/status.h"

namespace durlog {

// Status::System, with kNotFound for a missing name and kNotALog for one that is something else
// than expected (a symbolic link, a folder, a file in a folder's place).
Status NameError(const char* operation, int sys_errno, const std::string& path);

}  // namespace durlog
