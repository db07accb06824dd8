#include "platform/windows_directory.h"

#include "platform/windows_error.h"
#include "platform/windows_file.h"
#include "platform/windows_lock.h"
#include "platform/windows_names.h"
#include "platform/windows_path.h"
#include "platform/windows_reparse.h"
#include "platform/windows_retry.h"
#include "platform/wrong_type.h"

namespace durlog {
namespace {

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

OpenArguments ArgumentsFor(OpenMode mode) {
  constexpr DWORD kBoth = GENERIC_READ | GENERIC_WRITE;
  switch (mode) {
    case OpenMode::kRead: return {GENERIC_READ, OPEN_EXISTING, 0};
    case OpenMode::kReadWrite: return {kBoth, OPEN_EXISTING, 0};
    case OpenMode::kCreateNew:
    case OpenMode::kCreatePrivate: return {kBoth, CREATE_NEW, 0};
    case OpenMode::kDirect:
    case OpenMode::kDirectUnsynced:
      // Not FILE_FLAG_WRITE_THROUGH: see WindowsFile::WriteAt.
      return {kBoth, OPEN_EXISTING, FILE_FLAG_NO_BUFFERING};
  }
  return {GENERIC_READ, OPEN_EXISTING, 0};
}

Result<FILE_ATTRIBUTE_TAG_INFO> AttributesOf(HANDLE handle, const std::string& path) {
  FILE_ATTRIBUTE_TAG_INFO info;
  if (GetFileType(handle) != FILE_TYPE_DISK) {
    return Status::Error(Code::kNotALog, kNotRegularMessage).WithPath(path);
  }
  if (!GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &info, sizeof info)) {
    return WindowsError("FileAttributeTagInfo", GetLastError(), path);
  }
  return info;
}

bool IsSameFile(HANDLE one, HANDLE other) {
  const Result<FileId> a = IdOfHandle(one, "");
  const Result<FileId> b = IdOfHandle(other, "");
  return a.ok() && b.ok() && *a == *b;
}

Status LinkError(const std::string& path) {
  return Status::Error(Code::kNotALog, kLinkMessage).WithPath(path);
}

// Waits for a program that has the file open without sharing it. Does not wait after
// ERROR_ACCESS_DENIED, which means missing rights, a folder, or a deleted file that is still open.
DWORD OpenShared(const std::wstring& wide, const OpenArguments& how, DWORD flags,
                 ScopedHandle* handle) {
  const auto open = [&]() -> DWORD {
    *handle =
        ScopedHandle(CreateFileW(wide.c_str(), how.access, kShareAll, nullptr, how.disposition,
                                 FILE_ATTRIBUTE_NORMAL | how.flags | flags, nullptr));
    return handle->valid() ? 0 : GetLastError();
  };
  return RetryWhile([](DWORD error) { return error == ERROR_SHARING_VIOLATION; }, open,
                    [](DWORD ms) { Sleep(ms); });
}

bool IsFolder(const std::wstring& path) {
  const DWORD attributes = GetFileAttributesW(path.c_str());
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

}  // namespace

Result<std::wstring> WindowsDirectory::WidePathOf(const std::string& name) const {
  // A name with a colon would refer to an alternate data stream of a file.
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string("/\\:\0", 4)) != std::string::npos) {
    return Status::Error(Code::kInvalidArgument, "is not the name of a file in this folder")
        .WithPath(path_);
  }
  DURLOG_ASSIGN_OR_RETURN(const std::wstring wide, WideFromUtf8(name));
  return wide_path_ + L"\\" + wide;
}

Result<ScopedHandle> WindowsDirectory::OpenRegular(const std::string& name,
                                                   const OpenArguments& how) const {
  DURLOG_ASSIGN_OR_RETURN(const std::wstring wide, WidePathOf(name));
  const std::string path = PathOf(name);
  ScopedHandle handle;
  const DWORD error = OpenShared(wide, how, FILE_FLAG_OPEN_REPARSE_POINT, &handle);
  if (error != 0) {
    Status status = WindowsNameError("CreateFileW", error, path);
    if (error != ERROR_ACCESS_DENIED || !IsFolder(wide)) return status;
    return std::move(status).WithCode(Code::kNotALog).WithMessage(kFolderForFileMessage);
  }
  DURLOG_ASSIGN_OR_RETURN(const FILE_ATTRIBUTE_TAG_INFO info, AttributesOf(handle.get(), path));
  if (IsLink(info.FileAttributes, info.ReparseTag)) return LinkError(path);
  if ((info.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0) return handle;
  // The filter driver provides the data only to a handle that does not open the reparse point
  // itself.
  ScopedHandle data;
  OpenArguments existing = how;
  existing.disposition = OPEN_EXISTING;
  const DWORD unavailable = OpenShared(wide, existing, 0, &data);
  if (unavailable != 0) return WindowsNameError("CreateFileW", unavailable, path);
  if (!IsSameFile(handle.get(), data.get())) return LinkError(path);  // replaced in between
  return data;
}

Result<std::unique_ptr<File>> WindowsDirectory::Open(const std::string& name, OpenMode mode) {
  const OpenArguments how = ArgumentsFor(mode);
  DURLOG_ASSIGN_OR_RETURN(ScopedHandle handle, OpenRegular(name, how));
  return std::unique_ptr<File>(new WindowsFile(std::move(handle), PathOf(name), mode));
}

Result<std::vector<FileEntry>> WindowsDirectory::List() {
  std::vector<FileEntry> entries;
  WIN32_FIND_DATAW found;
  const HANDLE search = FindFirstFileW((wide_path_ + L"\\*").c_str(), &found);
  DWORD error = search == INVALID_HANDLE_VALUE ? GetLastError() : 0;
  while (error == 0) {
    const std::wstring name = found.cFileName;
    if (name != L"." && name != L"..") {
      // dwReserved0 is the tag of a reparse point.
      entries.push_back(
          {NarrowFromWide(name), IsRegular(found.dwFileAttributes, found.dwReserved0)});
    }
    if (!FindNextFileW(search, &found)) error = GetLastError();
  }
  if (search != INVALID_HANDLE_VALUE) FindClose(search);
  // A volume's root has no "." and may be empty, which is reported as a missing file.
  if (error == ERROR_NO_MORE_FILES || error == ERROR_FILE_NOT_FOUND) return entries;
  return WindowsNameError("FindNextFileW", error, path_);
}

Status WindowsDirectory::Rename(const std::string& from, const std::string& to) {
  DURLOG_ASSIGN_OR_RETURN(const std::wstring target, WidePathOf(to));
  DURLOG_ASSIGN_OR_RETURN(const std::wstring source, WidePathOf(from));
  const DWORD error = ReplaceName(source, target);
  return error == 0 ? Status::Ok() : WindowsNameError("FileRenameInfo", error, PathOf(from));
}

Status WindowsDirectory::Remove(const std::string& name) {
  DURLOG_ASSIGN_OR_RETURN(const std::wstring wide, WidePathOf(name));
  const DWORD error = RemoveName(wide);
  return error == 0 ? Status::Ok() : WindowsNameError("FileDispositionInfo", error, PathOf(name));
}

Status SyncFolder(const std::wstring& wide_path, const std::string& path) {
  const ScopedHandle folder(CreateFileW(wide_path.c_str(), GENERIC_WRITE, kShareAll, nullptr,
                                        OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  if (folder.valid() && FlushFileBuffers(folder.get())) return Status::Ok();
  const DWORD error = GetLastError();
  // Whether a folder can be flushed depends on its access list and on the file system's driver. If
  // not, there is no other call. But NTFS and ReFS log changes of names in order, and the flush of
  // a file in the folder writes that log at least up to the creation of the file.
  if (error == ERROR_ACCESS_DENIED || error == ERROR_INVALID_FUNCTION ||
      error == ERROR_NOT_SUPPORTED || error == ERROR_INVALID_HANDLE) {
    return Status::Ok();
  }
  return WindowsSyncError("FlushFileBuffers", error, path);
}

Status WindowsDirectory::Sync() {
  return sync_.Run([this] { return SyncFolder(wide_path_, path_); });
}

Result<std::unique_ptr<FileLock>> WindowsDirectory::Lock(const std::string& name) {
  DURLOG_ASSIGN_OR_RETURN(ScopedHandle handle,
                          OpenRegular(name, {GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS, 0}));
  return LockOpenFile(std::move(handle), PathOf(name));
}

Result<Capabilities> WindowsDirectory::Probe() {
  return ProbeFolder(handle_.get(), wide_path_, path_);
}

}  // namespace durlog
