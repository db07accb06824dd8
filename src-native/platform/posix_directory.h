// An open folder.
#pragma once

#include <dirent.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "platform/file_system.h"
#include "platform/lasting_sync.h"
#include "platform/posix_fd.h"
#include "platform/posix_reserve.h"

namespace durlog {

struct CloseEntries {
  void operator()(DIR* stream) const { closedir(stream); }
};
using FolderEntries = std::unique_ptr<DIR, CloseEntries>;
// Of the open folder, from its first entry on. Null, with errno set, on failure.
FolderEntries EntriesOf(int folder);

class PosixDirectory final : public Directory {
 public:
  PosixDirectory(ScopedFd fd, std::string path)
      : fd_(SharedFd(std::move(fd))), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }
  Result<std::unique_ptr<File>> Open(const std::string& name, OpenMode mode) override;
  std::unique_ptr<File> OpenCached(const std::string& name) override;
  Result<std::vector<FileEntry>> List() override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& name) override;
  Status Sync() override;
  Status SyncFileSystem() override;
  Result<std::unique_ptr<FileLock>> Lock(const std::string& name) override;
  Result<Capabilities> Probe() override;
  Result<FileId> Id() override;
  Result<FileId> IdOf(const std::string& name) override;
  void KeepDescriptors() override;

 private:
  Status CheckName(const std::string& name) const;
  Result<ScopedFd> OpenRegular(const std::string& name, int flags);
  Result<ScopedFd> CreateRegular(const std::string& name, int flags);

  const SharedFd fd_;
  const std::string path_;
  LastingSync sync_;
  std::shared_ptr<PosixReserve> reserve_;  // null unless the folder keeps descriptors
};

// Probes the file system that holds an open folder: one implementation for each system.
Result<Capabilities> ProbeDirectory(int fd, const std::string& path);

}  // namespace durlog
