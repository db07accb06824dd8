#include "platform/windows_directory.h"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "platform/windows_error.h"
#include "platform/windows_file.h"
#include "platform/windows_lock.h"
#include "platform/windows_path.h"
#include "platform/windows_probe.h"

namespace durlog {
namespace {

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

struct OpenArguments {
  DWORD access;
  DWORD disposition;
  DWORD flags;
};

OpenArguments ArgumentsFor(OpenMode mode) {
  constexpr DWORD kBoth = GENERIC_READ | GENERIC_WRITE;
  switch (mode) {
    case OpenMode::kRead:
      return {GENERIC_READ, OPEN_EXISTING, 0};
    case OpenMode::kReadWrite:
      return {kBoth, OPEN_EXISTING, 0};
    case OpenMode::kCreateNew:
      return {kBoth, CREATE_NEW, 0};
    case OpenMode::kDirect:
      return {kBoth, OPEN_EXISTING, FILE_FLAG_NO_BUFFERING | FILE_FLAG_WRITE_THROUGH};
  }
  return {GENERIC_READ, OPEN_EXISTING, 0};
}

// A link is opened itself and not followed. Other reparse points are files all the same: those of
// OneDrive and of deduplicated volumes, for example.
Status CheckRegular(HANDLE handle, const std::string& path) {
  FILE_ATTRIBUTE_TAG_INFO info;
  if (GetFileType(handle) != FILE_TYPE_DISK) {
    return Status::Error(Code::kNotALog, "is not a regular file").WithPath(path);
  }
  if (!GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &info, sizeof info)) {
    return WindowsError("FileAttributeTagInfo", GetLastError(), path);
  }
  if ((info.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 &&
      IsReparseTagNameSurrogate(info.ReparseTag)) {
    return Status::Error(Code::kNotALog,
                         "is a symbolic link, which durlog never follows within a log's folder")
        .WithPath(path);
  }
  return Status::Ok();
}

bool IsFolder(const std::wstring& path) {
  const DWORD attributes = GetFileAttributesW(path.c_str());
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

}  // namespace

Result<std::wstring> WindowsDirectory::WidePathOf(const std::string& name) const {
  // A colon would name another stream of a file.
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string("/\\:\0", 4)) != std::string::npos) {
    return Status::Error(Code::kInvalidArgument, "is not the name of a file in this folder")
        .WithPath(path_);
  }
  DURLOG_ASSIGN_OR_RETURN(const std::wstring wide, WideFromUtf8(name));
  return wide_path_ + L"\\" + wide;
}

Result<ScopedHandle> WindowsDirectory::OpenRegular(const std::string& name, DWORD access,
                                                   DWORD disposition, DWORD flags) const {
  DURLOG_ASSIGN_OR_RETURN(const std::wstring wide, WidePathOf(name));
  ScopedHandle handle(CreateFileW(wide.c_str(), access, kShareAll, nullptr, disposition,
                                  FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT | flags,
                                  nullptr));
  if (!handle.valid()) {
    const DWORD error = GetLastError();
    Status status = WindowsNameError("CreateFileW", error, PathOf(name));
    if (error != ERROR_ACCESS_DENIED || !IsFolder(wide)) return status;
    return std::move(status)
        .WithCode(Code::kNotALog)
        .WithMessage("is a folder where a file of the log is expected");
  }
  DURLOG_RETURN_IF_ERROR(CheckRegular(handle.get(), PathOf(name)));
  return handle;
}

Result<std::unique_ptr<File>> WindowsDirectory::Open(const std::string& name, OpenMode mode) {
  const OpenArguments how = ArgumentsFor(mode);
  DURLOG_ASSIGN_OR_RETURN(ScopedHandle handle,
                          OpenRegular(name, how.access, how.disposition, how.flags));
  return std::unique_ptr<File>(
      new WindowsFile(std::move(handle), PathOf(name), mode == OpenMode::kDirect));
}

Result<std::vector<FileEntry>> WindowsDirectory::List() {
  constexpr DWORD kNotRegular =
      FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT | FILE_ATTRIBUTE_DEVICE;
  std::vector<FileEntry> entries;
  WIN32_FIND_DATAW found;
  const HANDLE search = FindFirstFileW((wide_path_ + L"\\*").c_str(), &found);
  DWORD error = search == INVALID_HANDLE_VALUE ? GetLastError() : 0;
  while (error == 0) {
    const std::wstring name = found.cFileName;
    if (name != L"." && name != L"..") {
      entries.push_back({NarrowFromWide(name), (found.dwFileAttributes & kNotRegular) == 0});
    }
    if (!FindNextFileW(search, &found)) error = GetLastError();
  }
  if (search != INVALID_HANDLE_VALUE) FindClose(search);
  // A volume's root has no "." and may be empty, which is told as a missing file.
  if (error == ERROR_NO_MORE_FILES || error == ERROR_FILE_NOT_FOUND) return entries;
  return WindowsNameError("FindNextFileW", error, path_);
}

Status WindowsDirectory::Rename(const std::string& from, const std::string& to) {
  DURLOG_ASSIGN_OR_RETURN(const std::wstring target, WidePathOf(to));
  DURLOG_ASSIGN_OR_RETURN(const std::wstring source, WidePathOf(from));
  const ScopedHandle handle(CreateFileW(source.c_str(), DELETE | SYNCHRONIZE, kShareAll, nullptr,
                                        OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
  if (!handle.valid()) return WindowsNameError("CreateFileW", GetLastError(), PathOf(from));
  // The name follows the structure, and is counted without its end.
  const size_t name_bytes = target.size() * sizeof(wchar_t);
  std::vector<unsigned char> buffer(sizeof(FILE_RENAME_INFO) + name_bytes);
  FILE_RENAME_INFO* const info = reinterpret_cast<FILE_RENAME_INFO*>(buffer.data());
  info->ReplaceIfExists = TRUE;
  info->FileNameLength = static_cast<DWORD>(name_bytes);
  std::memcpy(info->FileName, target.data(), name_bytes);
  if (SetFileInformationByHandle(handle.get(), FileRenameInfo, info,
                                 static_cast<DWORD>(buffer.size()))) {
    return Status::Ok();
  }
  return WindowsNameError("FileRenameInfo", GetLastError(), PathOf(from));
}

Status WindowsDirectory::Remove(const std::string& name) {
  DURLOG_ASSIGN_OR_RETURN(const std::wstring wide, WidePathOf(name));
  if (DeleteFileW(wide.c_str())) return Status::Ok();
  return WindowsNameError("DeleteFileW", GetLastError(), PathOf(name));
}

Status SyncFolder(const std::wstring& wide_path, const std::string& path) {
  const ScopedHandle folder(CreateFileW(wide_path.c_str(), GENERIC_WRITE, kShareAll, nullptr,
                                        OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  if (folder.valid() && FlushFileBuffers(folder.get())) return Status::Ok();
  const DWORD error = GetLastError();
  // Whether a folder can be flushed is up to its access list and the file system's driver. Where it
  // cannot, there is no other call to turn to; NTFS and ReFS log changes of names in order, and the
  // flush of a file in the folder writes that log up to and with the file's own creation.
  if (error == ERROR_ACCESS_DENIED || error == ERROR_INVALID_FUNCTION ||
      error == ERROR_NOT_SUPPORTED || error == ERROR_INVALID_HANDLE) {
    return Status::Ok();
  }
  return WindowsError("FlushFileBuffers", error, path);
}

Status WindowsDirectory::Sync() { return SyncFolder(wide_path_, path_); }

Result<std::unique_ptr<FileLock>> WindowsDirectory::Lock(const std::string& name) {
  DURLOG_ASSIGN_OR_RETURN(ScopedHandle handle,
                          OpenRegular(name, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS, 0));
  return LockOpenFile(std::move(handle), PathOf(name));
}

Result<Capabilities> WindowsDirectory::Probe() {
  return ProbeFolder(handle_.get(), wide_path_, path_);
}

}  // namespace durlog
