#include "platform/windows_file_system.h"

#include <cerrno>
#include <utility>

#include "platform/windows_directory.h"
#include "platform/windows_error.h"
#include "platform/windows_handle.h"
#include "platform/windows_path.h"
#include "platform/windows_random.h"

namespace durlog {
namespace {

ScopedHandle OpenFolder(const std::wstring& path) {
  return ScopedHandle(CreateFileW(path.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                  nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
}

// The parent of "\\\\?\\C:\\a" is "\\\\?\\C:\\". Without the backslash, it would be the volume
// itself, and a flush would write all of it.
std::wstring ParentOf(const std::wstring& path) {
  const size_t slash = path.rfind(L'\\');
  const bool root = slash > 0 && path[slash - 1] == L':';
  return path.substr(0, root ? slash + 1 : slash);
}

Status FileForFolder(const std::string& path) { return Status::OfErrno(ENOTDIR).WithPath(path); }

// Makes `path` and its missing parents, from the top down. A new folder inherits the access list of
// its parent, which in a user's own folders gives access to that user only.
Status MakeFolder(const std::wstring& path) {
  if (!CreateDirectoryW(path.c_str(), nullptr)) {
    const DWORD error = GetLastError();
    if (error == ERROR_ALREADY_EXISTS) return Status::Ok();
    const std::wstring parent = ParentOf(path);
    if (error != ERROR_PATH_NOT_FOUND || parent.size() >= path.size()) {
      return WindowsNameError("CreateDirectoryW", error, NarrowFromWide(path));
    }
    DURLOG_RETURN_IF_ERROR(MakeFolder(parent));
    if (!CreateDirectoryW(path.c_str(), nullptr)) {
      const DWORD again = GetLastError();
      // The parent exists now. If it is still not found, it is not a folder.
      Status status = WindowsError("CreateDirectoryW", again, NarrowFromWide(path));
      if (again == ERROR_PATH_NOT_FOUND) return FileForFolder(status.path());
      if (again != ERROR_ALREADY_EXISTS) return status;
    }
  }
  return SyncFolder(ParentOf(path), NarrowFromWide(path));
}

// Whether the longest existing part of `path` is a file.
bool LeadsThroughAFile(std::wstring path) {
  for (std::wstring parent = ParentOf(path); parent.size() < path.size(); parent = ParentOf(path)) {
    const DWORD attributes = GetFileAttributesW(parent.c_str());
    if (attributes != INVALID_FILE_ATTRIBUTES) return (attributes & FILE_ATTRIBUTE_DIRECTORY) == 0;
    path = std::move(parent);
  }
  return false;
}

std::string WithoutTrailingSlashes(std::string path) {
  while (path.size() > 1 && (path.back() == '/' || path.back() == '\\')) path.pop_back();
  return path;
}

Status CheckFolder(HANDLE handle, const std::string& path) {
  FILE_BASIC_INFO info;
  if (!GetFileInformationByHandleEx(handle, FileBasicInfo, &info, sizeof info)) {
    return WindowsError("FileBasicInfo", GetLastError(), path);
  }
  if ((info.FileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0) return Status::Ok();
  return FileForFolder(path);
}

}  // namespace

Result<std::unique_ptr<Directory>> WindowsFileSystem::OpenDirectory(const std::string& path,
                                                                    bool create) {
  DURLOG_ASSIGN_OR_RETURN(std::wstring wide, AbsoluteWidePath(path));
  ScopedHandle handle = OpenFolder(wide);
  DWORD error = handle.valid() ? 0 : GetLastError();
  if (create && (error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND)) {
    Status made = MakeFolder(wide);
    if (!made.ok()) return std::move(made).WithPath(path);
    handle = OpenFolder(wide);
    error = handle.valid() ? 0 : GetLastError();
  }
  if (!handle.valid()) {
    Status status = WindowsNameError("CreateFileW", error, path);
    if (status.code() != Code::kNotFound) return status;
    if (LeadsThroughAFile(wide)) return FileForFolder(path);
    return create ? std::move(status) : std::move(status).WithMessage(kNoFolder);
  }
  DURLOG_RETURN_IF_ERROR(CheckFolder(handle.get(), path));
  return std::unique_ptr<Directory>(
      new WindowsDirectory(std::move(handle), std::move(wide), WithoutTrailingSlashes(path)));
}

uint64_t WindowsFileSystem::NowMs() {
  // Has the resolution of a clock tick (1 to 16 ms) and is read without a system call.
  constexpr uint64_t kUnixEpochMs = 11644473600000;  // since 1601
  FILETIME now;
  GetSystemTimeAsFileTime(&now);
  const uint64_t hundred_ns = (uint64_t{now.dwHighDateTime} << 32) | now.dwLowDateTime;
  return hundred_ns / 10000 - kUnixEpochMs;
}

uint64_t WindowsFileSystem::Random64() { return SystemRandom64(); }

FileSystem& DefaultFileSystem() {
  static WindowsFileSystem* const file_system = new WindowsFileSystem;
  return *file_system;
}

}  // namespace durlog
