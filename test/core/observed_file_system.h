// A file system that reports its calls to a test, on the thread that makes them and before they are
// made: to count them, to make them fail, or to hold them up.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "one_map.h"
#include "platform/file_system.h"
#include "platform/lasting_sync.h"

namespace durlog {

// `call` is the method's name in lower case ("write", "sync-data", "map", "unmap", ...), `name` the
// file's. A call whose observer returns an error is not made. May be called on any thread.
struct ObservedCall {
  std::string call;
  std::string name;
  uint64_t offset = 0;
  uint64_t length = 0;
};
using Observer = std::function<Status(const ObservedCall&)>;

class ObservedMapping final : public Mapping {
 public:
  ObservedMapping(std::unique_ptr<Mapping> inner, std::string name, Observer observer)
      : Mapping(inner->fault_flag()),
        inner_(std::move(inner)),
        name_(std::move(name)),
        observer_(std::move(observer)) {}
  ~ObservedMapping() override { static_cast<void>(observer_({"unmap", name_, 0, inner_->size()})); }
  uint8_t* data() override { return inner_->data(); }
  size_t size() const override { return inner_->size(); }
  Status Populate(size_t offset, size_t length) override {
    DURLOG_RETURN_IF_ERROR(observer_({"populate", name_, offset, length}));
    return inner_->Populate(offset, length);
  }
  Status Sync(size_t offset, size_t length) override {
    DURLOG_RETURN_IF_ERROR(observer_({"sync-map", name_, offset, length}));
    return inner_->Sync(offset, length);
  }
  void DropPages(size_t offset, size_t length) override {
    if (observer_({"drop-pages", name_, offset, length}).ok()) inner_->DropPages(offset, length);
  }
  // An observer that returns an error makes this a system that cannot wait.
  bool WaitOn(size_t offset, uint32_t value, uint64_t micros) override {
    if (!observer_({"wait-on", name_, offset, micros}).ok()) return false;
    return inner_->WaitOn(offset, value, micros);
  }
  void WakeOn(size_t offset) override { inner_->WakeOn(offset); }

 private:
  const std::unique_ptr<Mapping> inner_;
  const std::string name_;
  const Observer observer_;
};

class ObservedFile final : public File {
 public:
  ObservedFile(std::unique_ptr<File> inner, std::string name, bool direct, Observer observer,
               MapsByFile* maps = nullptr)
      : inner_(std::move(inner)),
        name_(std::move(name)),
        direct_(direct),
        observer_(std::move(observer)),
        maps_(maps) {}

  Result<size_t> ReadAt(uint64_t offset, void* to, size_t length) override {
    DURLOG_RETURN_IF_ERROR(observer_({direct_ ? "read-direct" : "read", name_, offset, length}));
    return inner_->ReadAt(offset, to, length);
  }
  Status WriteAt(uint64_t offset, const void* from, size_t length) override {
    DURLOG_RETURN_IF_ERROR(observer_({direct_ ? "write-direct" : "write", name_, offset, length}));
    return inner_->WriteAt(offset, from, length);
  }
  Status DropCache() override {
    DURLOG_RETURN_IF_ERROR(observer_({"drop-cache", name_}));
    return inner_->DropCache();
  }
  std::optional<CacheUse> CacheUseOf(uint64_t offset, uint64_t length) override {
    return inner_->CacheUseOf(offset, length);
  }
  Result<uint64_t> NextData(uint64_t offset) override { return inner_->NextData(offset); }
  Result<uint64_t> NextHole(uint64_t offset) override { return inner_->NextHole(offset); }
  Result<uint64_t> ModifiedNanos() override { return inner_->ModifiedNanos(); }
  Status StartWriteback(uint64_t offset, uint64_t length) override {
    DURLOG_RETURN_IF_ERROR(observer_({"start-writeback", name_, offset, length}));
    return inner_->StartWriteback(offset, length);
  }
  Status SyncData() override {
    DURLOG_RETURN_IF_ERROR(observer_({"sync-data", name_}));
    return inner_->SyncData();
  }
  Status SyncFull() override {
    DURLOG_RETURN_IF_ERROR(observer_({"sync-full", name_}));
    return inner_->SyncFull();
  }
  Result<uint64_t> Size() override {
    DURLOG_RETURN_IF_ERROR(observer_({"size", name_}));
    return inner_->Size();
  }
  Status Truncate(uint64_t size) override {
    DURLOG_RETURN_IF_ERROR(observer_({"truncate", name_, size}));
    return inner_->Truncate(size);
  }
  Status Allocate(uint64_t offset, uint64_t length) override {
    DURLOG_RETURN_IF_ERROR(observer_({"allocate", name_, offset, length}));
    return inner_->Allocate(offset, length);
  }
  Status ZeroRange(uint64_t offset, uint64_t length) override {
    DURLOG_RETURN_IF_ERROR(observer_({"zero", name_, offset, length}));
    return inner_->ZeroRange(offset, length);
  }
  Result<std::unique_ptr<Mapping>> Map(uint64_t offset, size_t length) override {
    DURLOG_RETURN_IF_ERROR(observer_({"map", name_, offset, length}));
    Result<std::unique_ptr<Mapping>> map =
        maps_ == nullptr ? inner_->Map(offset, length) : maps_->Map(*inner_, offset, length);
    if (!map.ok()) return map.TakeStatus();
    return std::unique_ptr<Mapping>(new ObservedMapping(std::move(*map), name_, observer_));
  }
  Result<std::unique_ptr<Mapping>> MapForReading(uint64_t offset, size_t length) override {
    return inner_->MapForReading(offset, length);
  }
  Result<std::unique_ptr<FileLock>> TryLock() override { return inner_->TryLock(); }
  Result<bool> IsLocked() override { return inner_->IsLocked(); }
  Result<bool> TryLockRange(LockKind kind, uint64_t offset, uint64_t length) override {
    const char* const call = kind == LockKind::kShared ? "lock-shared" : "lock";
    DURLOG_RETURN_IF_ERROR(observer_({call, name_, offset, length}));
    return inner_->TryLockRange(kind, offset, length);
  }
  // Called after the lock was released: another open may hold it by then.
  Status UnlockRange(uint64_t offset, uint64_t length) override {
    DURLOG_RETURN_IF_ERROR(inner_->UnlockRange(offset, length));
    return observer_({"unlocked", name_, offset, length});
  }
  Result<std::optional<LockKind>> RangeLockOfOthers(uint64_t offset, uint64_t length) override {
    return inner_->RangeLockOfOthers(offset, length);
  }
  Result<FileId> Id() override { return inner_->Id(); }
  bool HasOtherNames() override { return inner_->HasOtherNames(); }
  Status Close() override { return inner_->Close(); }

 private:
  const std::unique_ptr<File> inner_;
  const std::string name_;
  const bool direct_;
  const Observer observer_;
  MapsByFile* const maps_;
};

class ObservedDirectory final : public Directory {
 public:
  ObservedDirectory(std::unique_ptr<Directory> inner, const std::string& file_system,
                    uint32_t direct_alignment, Observer observer, MapsByFile* maps = nullptr)
      : inner_(std::move(inner)),
        file_system_(file_system),
        direct_alignment_(direct_alignment),
        observer_(std::move(observer)),
        maps_(maps) {}

  const std::string& path() const override { return inner_->path(); }
  Result<std::unique_ptr<File>> Open(const std::string& name, OpenMode mode) override {
    DURLOG_RETURN_IF_ERROR(observer_({"open", name}));
    DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<File> file, inner_->Open(name, mode));
    const bool direct = IsDirect(mode);
    return std::unique_ptr<File>(new ObservedFile(std::move(file), name, direct, observer_, maps_));
  }
  Result<std::vector<FileEntry>> List() override { return inner_->List(); }
  Status Rename(const std::string& from, const std::string& to) override {
    DURLOG_RETURN_IF_ERROR(observer_({"rename", to}));
    return inner_->Rename(from, to);
  }
  Status Remove(const std::string& name) override {
    DURLOG_RETURN_IF_ERROR(observer_({"remove", name}));
    return inner_->Remove(name);
  }
  Status Sync() override {
    return sync_.Run([this] {
      DURLOG_RETURN_IF_ERROR(observer_({"sync-directory", ""}));
      return inner_->Sync();
    });
  }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& name) override {
    return inner_->Lock(name);
  }
  Result<FileId> Id() override { return inner_->Id(); }
  Result<FileId> IdOf(const std::string& name) override { return inner_->IdOf(name); }
  void KeepDescriptors() override { inner_->KeepDescriptors(); }
  Result<Capabilities> Probe() override {
    DURLOG_ASSIGN_OR_RETURN(Capabilities capabilities, inner_->Probe());
    // The tests are to go the same way on whatever the machine's temporary folder is on.
    if (!file_system_.empty()) {
      capabilities.file_system = file_system_;
      capabilities.overwrites_in_place = file_system_ == "ext4";
      capabilities.shares_maps &= file_system_ != "nfs";
    }
    capabilities.direct_alignment = std::max(capabilities.direct_alignment, direct_alignment_);
    return capabilities;
  }

 private:
  const std::unique_ptr<Directory> inner_;
  const std::string file_system_;
  const uint32_t direct_alignment_;
  const Observer observer_;
  MapsByFile* const maps_;
  LastingSync sync_;
};

// The real file system below it, which passes for `file_system` where that is not empty.
class ObservedFileSystem final : public FileSystem {
 public:
  explicit ObservedFileSystem(Observer observer, std::string file_system = "")
      : observer_(std::move(observer)), file_system_(std::move(file_system)) {}

  Result<std::unique_ptr<Directory>> OpenDirectory(const std::string& path, bool create) override {
    DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<Directory> directory,
                            DefaultFileSystem().OpenDirectory(path, create));
    return std::unique_ptr<Directory>(new ObservedDirectory(std::move(directory), file_system_,
                                                            direct_alignment, observer_, maps));
  }
  uint64_t NowMs() override { return DefaultFileSystem().NowMs() + clock_ahead_ms; }
  uint64_t MonotonicMicros() override {
    const uint64_t now =
        stopped_at_micros > 0 ? stopped_at_micros : DefaultFileSystem().MonotonicMicros();
    return now + micros_ahead;
  }
  uint64_t Random64() override { return DefaultFileSystem().Random64(); }

  uint64_t clock_ahead_ms = 0;
  std::atomic<uint64_t> micros_ahead{0};
  // If it is not 0, the clock moves only with micros_ahead.
  uint64_t stopped_at_micros = 0;
  uint32_t direct_alignment =
      0;                       // of a device with blocks larger than the machine's; 0 for its own
  MapsByFile* maps = nullptr;  // where set, all maps of a file are at one address

 private:
  const Observer observer_;
  const std::string file_system_;
};

}  // namespace durlog
