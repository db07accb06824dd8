#include "platform/windows_path.h"

#include <windows.h>

#include "platform/windows_error.h"

namespace durlog {
namespace {

constexpr wchar_t kVerbatimPrefix[] = L"\\\\?\\";
constexpr wchar_t kVerbatimSharePrefix[] = L"\\\\?\\UNC\\";

bool StartsWith(const std::wstring& text, const wchar_t* prefix) { return text.find(prefix) == 0; }

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
  const DWORD needed = GetFullPathNameW(wide.c_str(), 0, nullptr, nullptr);
  std::wstring full(needed, L'\0');
  const DWORD length = GetFullPathNameW(wide.c_str(), needed, full.data(), nullptr);
  if (needed == 0 || length == 0 || length >= needed) {
    return WindowsError("GetFullPathNameW", GetLastError(), path);
  }
  full.resize(length);
  // "C:\" keeps its backslash, because "C:" is the current folder of the drive.
  while (full.size() > 3 && full.back() == L'\\') full.pop_back();
  if (StartsWith(full, L"\\\\")) return kVerbatimSharePrefix + full.substr(2);
  return kVerbatimPrefix + full;
}

}  // namespace durlog
