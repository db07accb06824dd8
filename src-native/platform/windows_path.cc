#include "platform/windows_path.h"

#include <windows.h>

#include <algorithm>

#include "platform/windows_error.h"

namespace durlog {
namespace {

constexpr wchar_t kVerbatimPrefix[] = L"\\\\?\\";
constexpr wchar_t kVerbatimSharePrefix[] = L"\\\\?\\UNC\\";

bool StartsWith(const std::wstring& text, const wchar_t* prefix) { return text.find(prefix) == 0; }

// Whether the path is absolute and has no name to resolve, like a path from Node's path.resolve().
bool IsResolved(const std::wstring& path) {
  const bool drive = path.size() > 2 && path[1] == L':' && path[2] == L'\\';
  const bool share = path.size() > 2 && StartsWith(path, L"\\\\") && path[2] != L'.';
  if ((!drive && !share) || path.find(L'/') != std::wstring::npos) return false;
  for (size_t begin = drive ? 3 : 2; begin < path.size();) {
    const size_t end = std::min(path.find(L'\\', begin), path.size());
    const std::wstring name = path.substr(begin, end - begin);
    if (name.empty() || name == L"." || name == L"..") return false;
    begin = end + 1;
  }
  return true;
}

// GetFullPathNameW also removes dots and spaces from the ends of names, and makes a device of a
// name such as "con". Node does not, so the two would use different folders.
Result<std::wstring> FullPath(std::wstring wide, const std::string& path) {
  if (IsResolved(wide)) return wide;
  const DWORD needed = GetFullPathNameW(wide.c_str(), 0, nullptr, nullptr);
  std::wstring full(needed, L'\0');
  const DWORD length = GetFullPathNameW(wide.c_str(), needed, full.data(), nullptr);
  if (needed == 0 || length == 0 || length >= needed) {
    return WindowsError("GetFullPathNameW", GetLastError(), path);
  }
  full.resize(length);
  return full;
}

}  // namespace

Result<std::wstring> WideFromUtf8(const std::string& text) {
  const Status invalid = Status::Error(Code::kInvalidArgument, "is not a path in UTF-8");
  if (text.empty() || text.size() > INT_MAX || text.find('\0') != std::string::npos) {
    return Status(invalid).WithPath(text);
  }
  const int length = static_cast<int>(text.size());
  const int needed =
      MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), length, nullptr, 0);
  if (needed <= 0) return Status(invalid).WithPath(text);
  std::wstring wide(static_cast<size_t>(needed), L'\0');
  MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), length, wide.data(), needed);
  return wide;
}

std::string NarrowFromWide(const std::wstring& text) {
  if (text.empty() || text.size() > INT_MAX) return std::string();
  const int length = static_cast<int>(text.size());
  const int needed =
      WideCharToMultiByte(CP_UTF8, 0, text.data(), length, nullptr, 0, nullptr, nullptr);
  std::string narrow(static_cast<size_t>(needed), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text.data(), length, narrow.data(), needed, nullptr, nullptr);
  return narrow;
}

Result<std::wstring> AbsoluteWidePath(const std::string& path) {
  DURLOG_ASSIGN_OR_RETURN(const std::wstring wide, WideFromUtf8(path));
  if (StartsWith(wide, kVerbatimPrefix)) return wide;
  DURLOG_ASSIGN_OR_RETURN(std::wstring full, FullPath(wide, path));
  // "C:\" keeps its backslash, because "C:" is the current folder of the drive.
  while (full.size() > 3 && full.back() == L'\\') full.pop_back();
  if (StartsWith(full, L"\\\\")) return kVerbatimSharePrefix + full.substr(2);
  return kVerbatimPrefix + full;
}

}  // namespace durlog
