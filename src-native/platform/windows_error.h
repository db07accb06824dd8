// GetLastError() as a Status.
#pragma once

#include <string>

#include "base/status.h"

namespace durlog {

// Status::System with the equivalent errno, so that the layers above need only one set of error
// numbers. The message contains the Windows error number and its text.
Status WindowsError(const char* operation, unsigned long error, const std::string& path);
// The same for calls that sync: see Status::OfSync().
Status WindowsSyncError(const char* operation, unsigned long error, const std::string& path);

// The same for calls with a file name: kNotFound if the name does not exist.
Status WindowsNameError(const char* operation, unsigned long error, const std::string& path);

}  // namespace durlog
