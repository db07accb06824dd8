// An open regular file on Windows.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "platform/file_system.h"
#include "platform/windows_handle.h"

namespace durlog {

Result<FileId> IdOfHandle(HANDLE handle, const std::string& path);
// Another handle of an open file.
Result<ScopedHandle> DuplicateOf(HANDLE file, const std::string& path);

class WindowsFile final : public File {
 public:
  // `path` is for errors only.
  WindowsFile(ScopedHandle handle, std::string path, OpenMode mode)
      : handle_(std::move(handle)),
        path_(std::move(path)),
        direct_(IsDirect(mode)),
        durable_(mode == OpenMode::kDirect) {}

  Result<size_t> ReadAt(uint64_t offset, void* to, size_t length) override;
  Status WriteAt(uint64_t offset, const void* from, size_t length) override;
  Status StartWriteback(uint64_t offset, uint64_t length) override;
  Status SyncData() override;
  Status SyncFull() override;
  Status DropCache() override;
  Result<uint64_t> NextData(uint64_t offset) override;
  Result<uint64_t> Size() override;
  Status Truncate(uint64_t size) override;
  Status Allocate(uint64_t offset, uint64_t length) override;
  Status ZeroRange(uint64_t offset, uint64_t length) override;
  Result<std::unique_ptr<Mapping>> Map(uint64_t offset, size_t length) override;
  Result<std::unique_ptr<Mapping>> MapForReading(uint64_t offset, size_t length) override;
  Result<std::unique_ptr<FileLock>> TryLock() override;
  Result<bool> IsLocked() override;
  Result<FileId> Id() override;
  void SetPath(const std::string& path) override { path_ = path; }
  Status Close() override;

 private:
  Status ExtendTo(uint64_t end);
  Status ReserveTo(uint64_t end);

  ScopedHandle handle_;
  std::string path_;
  const bool direct_;
  const bool durable_;  // each write is durable when it returns
};

}  // namespace durlog
