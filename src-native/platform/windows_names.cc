#include "platform/windows_names.h"

#include <cstring>
#include <vector>

#include "platform/windows_handle.h"
#include "platform/windows_random.h"
#include "platform/windows_retry.h"

namespace durlog {
namespace {

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

// The errors of systems and file systems that do not support an information class or one of its
// flags.
bool IsUnknownClass(DWORD error) {
  return error == ERROR_INVALID_PARAMETER || error == ERROR_INVALID_FUNCTION ||
         error == ERROR_NOT_SUPPORTED || error == ERROR_CALL_NOT_IMPLEMENTED ||
         error == ERROR_INVALID_LEVEL;
}

DWORD OpenForDeletion(const std::wstring& path, ScopedHandle* handle) {
  *handle = ScopedHandle(
      CreateFileW(path.c_str(), DELETE | SYNCHRONIZE, kShareAll, nullptr, OPEN_EXISTING,
                  FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_WRITE_THROUGH, nullptr));
  return handle->valid() ? 0 : GetLastError();
}

DWORD SetInformation(HANDLE handle, FILE_INFO_BY_HANDLE_CLASS what, void* information,
                     size_t bytes) {
  return SetFileInformationByHandle(handle, what, information, static_cast<DWORD>(bytes))
             ? 0
             : GetLastError();
}

// `flags` are for FileRenameInfoEx. FileRenameInfo has the flag for replacing at the same offset.
DWORD Rename(HANDLE handle, FILE_INFO_BY_HANDLE_CLASS what, DWORD flags, const std::wstring& to) {
  // The name follows the structure. Its length does not include the terminating zero.
  const size_t name_bytes = to.size() * sizeof(wchar_t);
  std::vector<unsigned char> buffer(sizeof(FILE_RENAME_INFO) + name_bytes);
  FILE_RENAME_INFO* const info = reinterpret_cast<FILE_RENAME_INFO*>(buffer.data());
  if (what == FileRenameInfoEx) {
    info->Flags = flags;
  } else {
    info->ReplaceIfExists = TRUE;
  }
  info->FileNameLength = static_cast<DWORD>(name_bytes);
  std::memcpy(info->FileName, to.data(), name_bytes);
  return SetInformation(handle, what, info, buffer.size());
}

DWORD ReplaceOnce(const std::wstring& from, const std::wstring& to) {
  ScopedHandle handle;
  const DWORD missing = OpenForDeletion(from, &handle);
  if (missing != 0) return missing;
  constexpr DWORD kPosix = FILE_RENAME_FLAG_REPLACE_IF_EXISTS | FILE_RENAME_FLAG_POSIX_SEMANTICS;
  const DWORD error = Rename(handle.get(), FileRenameInfoEx, kPosix, to);
  return IsUnknownClass(error) ? Rename(handle.get(), FileRenameInfo, 0, to) : error;
}

// Without POSIX semantics, a name stays in use until the last handle is closed, so the file is
// renamed before it is removed. If the rename fails, the file is removed anyway. A file that cannot
// be removed, because a process has mapped it, gets its name back.
DWORD RemoveAside(HANDLE handle, const std::wstring& path) {
  const std::wstring folder = path.substr(0, path.rfind(L'\\') + 1);
  const std::wstring aside = folder + L".durlog-removed-" + std::to_wstring(SystemRandom64());
  const bool renamed = Rename(handle, FileRenameInfo, 0, aside) == 0;
  FILE_DISPOSITION_INFO disposition = {TRUE};
  const DWORD error = SetInformation(handle, FileDispositionInfo, &disposition, sizeof disposition);
  if (error != 0 && renamed) static_cast<void>(Rename(handle, FileRenameInfo, 0, path));
  return error;
}

DWORD RemoveOnce(const std::wstring& path) {
  ScopedHandle handle;
  const DWORD missing = OpenForDeletion(path, &handle);
  if (missing != 0) return missing;
  FILE_DISPOSITION_INFO_EX posix = {FILE_DISPOSITION_FLAG_DELETE |
                                    FILE_DISPOSITION_FLAG_POSIX_SEMANTICS};
  const DWORD error = SetInformation(handle.get(), FileDispositionInfoEx, &posix, sizeof posix);
  return IsUnknownClass(error) ? RemoveAside(handle.get(), path) : error;
}

}  // namespace

DWORD ReplaceName(const std::wstring& from, const std::wstring& to) {
  return RetryWhileInUse([&] { return ReplaceOnce(from, to); });
}

DWORD RemoveName(const std::wstring& path) {
  return RetryWhileInUse([&] { return RemoveOnce(path); });
}

}  // namespace durlog
