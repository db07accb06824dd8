// An open folder on Windows.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "platform/file_system.h"
#include "platform/lasting_sync.h"
#include "platform/windows_handle.h"

namespace durlog {

// The arguments of CreateFileW that are not the same for every file of a log.
struct OpenArguments {
  DWORD access;
  DWORD disposition;
  DWORD flags;
};

// Files cannot be opened relative to a folder's handle, so names are appended to the path. The
// handle does not share deletion, so the folder cannot be renamed while it is open.
class WindowsDirectory final : public Directory {
 public:
  WindowsDirectory(ScopedHandle handle, std::wstring wide_path, std::string path)
      : handle_(std::move(handle)), wide_path_(std::move(wide_path)), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }
  std::string PathOf(const std::string& name) const override { return path_ + "\\" + name; }
  Result<std::unique_ptr<File>> Open(const std::string& name, OpenMode mode) override;
  Result<std::vector<FileEntry>> List() override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& name) override;
  Status Sync() override;
  Result<std::unique_ptr<FileLock>> Lock(const std::string& name) override;
  Result<Capabilities> Probe() override;

 private:
  Result<std::wstring> WidePathOf(const std::string& name) const;
  Result<ScopedHandle> OpenRegular(const std::string& name, const OpenArguments& how) const;

  const ScopedHandle handle_;
  const std::wstring wide_path_;
  const std::string path_;
  LastingSync sync_;
};

// Makes the entries of the folder at `wide_path` durable.
Status SyncFolder(const std::wstring& wide_path, const std::string& path);

// Probes the volume that holds a folder, of which `folder` is an open handle.
Result<Capabilities> ProbeFolder(HANDLE folder, const std::wstring& wide_path,
                                 const std::string& path);

}  // namespace durlog
