// GetLastError() as a Status.
#pragma once

#include <string>

#include "base/status.h"

namespace durlog {

// Status::System with the errno that means the same, so that the layers above know one set of
// numbers, and with the system's own number and text as its message.
Status WindowsError(const char* operation, unsigned long error, const std::string& path);

// The same for calls that take a name: kNotFound if the name does not exist.
Status WindowsNameError(const char* operation, unsigned long error, const std::string& path);

}  // namespace durlog
