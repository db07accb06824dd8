// The handles of a SimulatedDisk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulated_disk.h"

namespace durlog::crash {

class SimulatedDirectory final : public Directory {
 public:
  SimulatedDirectory(SimulatedDisk* disk, std::string path, uint32_t process)
      : disk_(disk), path_(std::move(path)), process_(process) {}

  const std::string& path() const override { return path_; }
  Result<std::unique_ptr<File>> Open(const std::string& name, OpenMode mode) override;
  Result<std::vector<FileEntry>> List() override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& name) override;
  Status Sync() override;
  Result<std::unique_ptr<FileLock>> Lock(const std::string& name) override;
  Result<Capabilities> Probe() override;

 private:
  Status NotFound(const std::string& name) const;
  void Unlink(const std::string& name);

  SimulatedDisk* const disk_;
  const std::string path_;
  const uint32_t process_;
  Status sync_failure_;  // see LastingSync
};

class SimulatedFile final : public File {
 public:
  SimulatedFile(SimulatedDisk* disk, std::shared_ptr<SimulatedInode> inode, std::string name,
                OpenMode mode, uint32_t process)
      : disk_(disk),
        inode_(std::move(inode)),
        name_(std::move(name)),
        mode_(mode),
        process_(process) {}
  ~SimulatedFile() override { inode_->locks().Unlock(this, 0, UINT64_MAX); }

  Result<size_t> ReadAt(uint64_t offset, void* to, size_t length) override;
  Status WriteAt(uint64_t offset, const void* from, size_t length) override;
  Status StartWriteback(uint64_t offset, uint64_t length) override;
  Status SyncData() override;
  Status SyncFull() override;
  Status DropCache() override;
  std::optional<CacheUse> CacheUseOf(uint64_t offset, uint64_t length) override;
  std::optional<size_t> ReadCachedAt(uint64_t offset, void* to, size_t length) override;
  Result<uint64_t> NextData(uint64_t offset) override;
  Result<uint64_t> Size() override;
  Status Truncate(uint64_t size) override;
  Status Allocate(uint64_t offset, uint64_t length) override;
  Status ZeroRange(uint64_t offset, uint64_t length) override;
  Result<std::unique_ptr<Mapping>> Map(uint64_t offset, size_t length) override;
  Result<bool> TryLockRange(LockKind kind, uint64_t offset, uint64_t length) override;
  Status UnlockRange(uint64_t offset, uint64_t length) override;
  Result<std::optional<LockKind>> RangeLockOfOthers(uint64_t offset, uint64_t length) override;
  Status Close() override;

 private:
  Status TakeBlocks(bool zeroes, uint64_t offset, uint64_t length);
  bool direct() const { return IsDirect(mode_); }
  std::string Where(uint64_t offset, uint64_t length) const;
  Status NoSpace(const char* operation) const;
  Status Sync(Call call);
  void PutBuffered(uint64_t offset, const uint8_t* from, size_t length);
  void PutDirect(uint64_t offset, const uint8_t* from, size_t length);
  void CheckAligned(const char* call, uint64_t offset, const void* at, size_t length);
  void CheckDirect(uint64_t offset, const void* from, size_t length);

  SimulatedDisk* const disk_;
  std::shared_ptr<SimulatedInode> inode_;
  const std::string name_;
  const OpenMode mode_;
  const uint32_t process_;
  bool read_since_drop_ = false;
};

class SimulatedMapping final : public Mapping {
 public:
  SimulatedMapping(SimulatedDisk* disk, std::shared_ptr<SimulatedInode> inode, std::string name,
                   uint64_t offset, size_t length, uint32_t process);
  ~SimulatedMapping() override;

  uint8_t* data() override { return inode_->cache() + offset_; }
  size_t size() const override { return length_; }
  Status Populate(size_t offset, size_t length) override;
  Status Sync(size_t offset, size_t length) override;
  bool WaitOn(size_t, uint32_t, uint64_t) override {
    disk_->Wait();
    return true;
  }

 private:
  SimulatedDisk* const disk_;
  const std::shared_ptr<SimulatedInode> inode_;
  const std::string name_;
  const uint64_t offset_;
  const size_t length_;
  const uint32_t process_;
};

}  // namespace durlog::crash
