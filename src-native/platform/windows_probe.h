// Probes the volume that holds a folder.
#pragma once

#include <windows.h>

#include <string>

#include "platform/file_system.h"

namespace durlog {

// `folder` is an open handle of the folder at `wide_path`.
Result<Capabilities> ProbeFolder(HANDLE folder, const std::wstring& wide_path,
                                 const std::string& path);

}  // namespace durlog
