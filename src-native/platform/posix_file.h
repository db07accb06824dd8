// An open regular file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "platform/file_system.h"
#include "platform/posix_fd.h"
#include "platform/posix_reserve.h"

namespace durlog {

Result<FileId> IdOfDescriptor(int fd, const std::string& path);

// Methods that differ between systems are in the files sync_*, cache_*, preallocate_* and lock_*.
class PosixFile final : public File {
 public:
  // `path` is for errors only. The descriptor goes to `reserve`, if there is one.
  PosixFile(ScopedFd fd, std::string path, OpenMode mode,
            std::shared_ptr<PosixReserve> reserve = nullptr)
      : fd_(SharedFd(std::move(fd))),
        path_(std::move(path)),
        direct_(IsDirect(mode)),
        durable_(mode == OpenMode::kDirect),
        reserve_(std::move(reserve)) {}
  ~PosixFile() override;

  Result<size_t> ReadAt(uint64_t offset, void* to, size_t length) override;
  std::optional<size_t> ReadCachedAt(uint64_t offset, void* to, size_t length) override;
  Status WriteAt(uint64_t offset, const void* from, size_t length) override;
  Status StartWriteback(uint64_t offset, uint64_t length) override;
  Status SyncData() override;
  Status SyncFull() override;
  Status DropCache() override;
  std::optional<CacheUse> CacheUseOf(uint64_t offset, uint64_t length) override;
  Result<uint64_t> NextData(uint64_t offset) override;
  Result<uint64_t> NextHole(uint64_t offset) override;
  Result<uint64_t> Size() override;
  Status Truncate(uint64_t size) override;
  Status Allocate(uint64_t offset, uint64_t length) override;
  Status ZeroRange(uint64_t offset, uint64_t length) override;
  Result<std::unique_ptr<Mapping>> Map(uint64_t offset, size_t length) override;
  Result<std::unique_ptr<Mapping>> MapForReading(uint64_t offset, size_t length) override;
  Result<std::unique_ptr<FileLock>> TryLock() override;
  Result<bool> IsLocked() override;
  Result<bool> TryLockRange(LockKind kind, uint64_t offset, uint64_t length) override;
  Status UnlockRange(uint64_t offset, uint64_t length) override;
  Result<std::optional<LockKind>> RangeLockOfOthers(uint64_t offset, uint64_t length) override;
  Result<FileId> Id() override;
  bool HasOtherNames() override;
  Result<uint64_t> ModifiedNanos() override;
  void SetPath(const std::string& path) override { path_ = path; }
  Status Close() override;

 private:
  Status WriteError(int error, uint64_t offset, size_t length) const;

  SharedFd fd_;
  std::string path_;
  const bool direct_;
  const bool durable_;  // each write is durable when it returns
  const std::shared_ptr<PosixReserve> reserve_;
};

}  // namespace durlog
