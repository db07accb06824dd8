// What the volume below a folder can do.
#ifndef DURLOG_PLATFORM_WINDOWS_PROBE_H_
#define DURLOG_PLATFORM_WINDOWS_PROBE_H_

#include <windows.h>

#include <string>

#include "platform/file_system.h"

namespace durlog {

// `folder` is open as the handle; `wide_path` is where it is.
Result<Capabilities> ProbeFolder(HANDLE folder, const std::wstring& wide_path,
                                 const std::string& path);

}  // namespace durlog

#endif  // DURLOG_PLATFORM_WINDOWS_PROBE_H_
