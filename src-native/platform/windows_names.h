// Renaming and removing files that are open, by us or by others.
#ifndef DURLOG_PLATFORM_WINDOWS_NAMES_H_
#define DURLOG_PLATFORM_WINDOWS_NAMES_H_

#include <windows.h>

#include <string>

namespace durlog {

// Both return a Windows error or 0, wait within bounds for a program that has the file open without
// sharing it, and ask for a write-through of the folder's change.

// Gives the file `from` the name `to`, atomically. A file of that name is replaced, open or not,
// where the file system has POSIX semantics (NTFS since Windows 10 1709); elsewhere
// (FAT, network shares, Wine) only if nobody has it open.
DWORD ReplaceName(const std::wstring& from, const std::wstring& to);

// The name is free at once, also while the file is open.
DWORD RemoveName(const std::wstring& path);

}  // namespace durlog

#endif  // DURLOG_PLATFORM_WINDOWS_NAMES_H_
