// Errors of calls that take a name, with the codes that the layers above distinguish.
#pragma once

#include <string>

#include "base/status.h"

namespace durlog {

// As Status::System, but kNotFound if the name is missing, and kNotALog if it is of another type
// than expected (a symbolic link, a folder, a file in place of a folder).
Status NameError(const char* operation, int sys_errno, const std::string& path);

}  // namespace durlog
