#include "platform/windows_error.h"

#include <windows.h>

#include <cerrno>

#include "platform/windows_path.h"

namespace durlog {
namespace {

struct ErrorPair {
  DWORD error;
  int sys_errno;
};

constexpr ErrorPair kErrors[] = {
    {ERROR_FILE_NOT_FOUND, ENOENT},
    {ERROR_PATH_NOT_FOUND, ENOENT},
    {ERROR_ACCESS_DENIED, EACCES},
    {ERROR_SHARING_VIOLATION, EACCES},
    {ERROR_LOCK_VIOLATION, EACCES},
    {ERROR_USER_MAPPED_FILE, EACCES},
    {ERROR_DELETE_PENDING, EACCES},
    {ERROR_DISK_FULL, ENOSPC},
    {ERROR_HANDLE_DISK_FULL, ENOSPC},
    {ERROR_DISK_QUOTA_EXCEEDED, ENOSPC},  // the C library has no EDQUOT
    {ERROR_FILE_TOO_LARGE, EFBIG},
    {ERROR_FILE_EXISTS, EEXIST},
    {ERROR_ALREADY_EXISTS, EEXIST},
    {ERROR_INVALID_HANDLE, EBADF},
    {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
    {ERROR_OUTOFMEMORY, ENOMEM},
    {ERROR_COMMITMENT_LIMIT, ENOMEM},
    {ERROR_INVALID_PARAMETER, EINVAL},
    {ERROR_INVALID_NAME, EINVAL},
    {ERROR_DIRECTORY, ENOTDIR},
    {ERROR_WRITE_PROTECT, EROFS},
    {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
    {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
    {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
    {ERROR_CALL_NOT_IMPLEMENTED, ENOSYS},
    {ERROR_NOT_SUPPORTED, ENOTSUP},
    {ERROR_INVALID_FUNCTION, ENOTSUP},
};

int ErrnoOf(DWORD error) {
  for (const ErrorPair& pair : kErrors) {
    if (pair.error == error) return pair.sys_errno;
  }
  return EIO;
}

std::string TextOf(DWORD error) {
  wchar_t text[256];
  const DWORD length =
      FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, nullptr, error, 0,
                     text, sizeof text / sizeof text[0], nullptr);
  std::string message = NarrowFromWide(std::wstring(text, length));
  while (!message.empty() && (message.back() == '\n' || message.back() == '\r')) message.pop_back();
  return message;
}

}  // namespace

Status WindowsError(const char* operation, unsigned long error, const std::string& path) {
  return Status::System(operation, ErrnoOf(error), path)
      .WithMessage(std::string(operation) + ": error " + std::to_string(error) + ": " +
                   TextOf(error));
}

Status WindowsSyncError(const char* operation, unsigned long error, const std::string& path) {
  return WindowsError(operation, error, path).WithCode(Code::kIo);
}

Status WindowsNameError(const char* operation, unsigned long error, const std::string& path) {
  Status status = WindowsError(operation, error, path);
  switch (status.sys_errno()) {
    case ENOENT: return std::move(status).WithCode(Code::kNotFound);
    case ENOTDIR: return Status::System(operation, ENOTDIR, path);
    default: return status;
  }
}

}  // namespace durlog
