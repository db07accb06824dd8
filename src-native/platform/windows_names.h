// Renames and removes files that this process or others may have open.
#pragma once

#include <windows.h>

#include <string>

namespace durlog {

// Both return a Windows error or 0. They wait, for a bounded time, for a program that has the file
// open without sharing it, and request a write-through of the folder's change.

// Renames `from` to `to` atomically. An existing file `to` is replaced even while it is open if the
// file system has POSIX semantics (NTFS since Windows 10 1709). On others (FAT, network shares,
// Wine) it is replaced only if no process has it open.
DWORD ReplaceName(const std::wstring& from, const std::wstring& to);

// Removes a name. The name is free at once, even if the file is open. Fails with
// ERROR_ACCESS_DENIED if a process has mapped the file.
DWORD RemoveName(const std::wstring& path);

}  // namespace durlog
