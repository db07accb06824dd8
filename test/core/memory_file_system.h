// Files in memory, for tests and fuzzers that need no disk. They lose nothing, and only a limit on
// size makes a call fail. For a disk that fails, see crash/.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "platform/file_system.h"

namespace durlog {

using MemoryBytes = std::vector<uint8_t>;

// State shared by the files of one file system.
struct MemoryDevice {
  uint32_t direct_alignment = 4096;
  bool overwrites_in_place = false;
  size_t longest_write = SIZE_MAX;    // a longer write fails with kNoSpace
  std::optional<CacheUse> cache_use;  // the cache use of every file after its cache was dropped
  bool tells_what_is_read = true;     // cache_use counts the bytes read since
  size_t cached_bytes = 0;  // of each file that can be read without waiting; 0: no such calls
  std::mutex names;         // guards the folders: jobs open and rename on their workers
  std::mutex mutex;         // guards awaiting_full_sync
  std::set<const MemoryBytes*> awaiting_full_sync;  // written to since their last SyncFull()
};

class MemoryFile final : public File {
 public:
  // No file gets longer, so that no input can make a test eat the machine's memory.
  static constexpr uint64_t kMaxBytes = 64u << 20;

  explicit MemoryFile(std::shared_ptr<MemoryBytes> bytes,
                      const std::function<void(size_t)>* after_read = nullptr,
                      MemoryDevice* device = nullptr, bool direct = false)
      : bytes_(std::move(bytes)), after_read_(after_read), device_(device), direct_(direct) {}

  Result<size_t> ReadAt(uint64_t offset, void* to, size_t length) override {
    if (offset >= bytes_->size()) return size_t{0};
    read_since_drop_ = true;
    const size_t from = static_cast<size_t>(offset);
    const size_t step = std::min(length, bytes_->size() - from);
    if (step > 0) std::memcpy(to, bytes_->data() + from, step);
    if (after_read_ != nullptr && *after_read_) (*after_read_)(step);
    return step;
  }
  std::optional<size_t> ReadCachedAt(uint64_t offset, void* to, size_t length) override {
    if (device_ == nullptr || device_->cached_bytes == 0) return std::nullopt;
    const size_t end = device_->cached_bytes;
    if (offset >= end) return size_t{0};
    const Result<size_t> read =
        ReadAt(offset, to, std::min(length, end - static_cast<size_t>(offset)));
    return *read;
  }
  Status WriteAt(uint64_t offset, const void* from, size_t length) override {
    if (offset > kMaxBytes || length > kMaxBytes - offset) return Full();
    if (device_ != nullptr) DURLOG_RETURN_IF_ERROR(Admit(offset, from, length));
    const size_t at = static_cast<size_t>(offset);
    if (bytes_->size() < at + length) bytes_->resize(at + length);
    if (length > 0) std::memcpy(bytes_->data() + at, from, length);
    return Status::Ok();
  }
  Status StartWriteback(uint64_t, uint64_t) override { return Status::Ok(); }
  Status SyncData() override { return Status::Ok(); }
  Status SyncFull() override {
    if (device_ == nullptr) return Status::Ok();
    const std::lock_guard<std::mutex> guard(device_->mutex);
    device_->awaiting_full_sync.erase(bytes_.get());
    return Status::Ok();
  }
  Status DropCache() override {
    read_since_drop_ = false;
    return Status::Ok();
  }
  std::optional<CacheUse> CacheUseOf(uint64_t, uint64_t) override {
    if (device_ == nullptr || !device_->cache_use) return std::nullopt;
    CacheUse use = *device_->cache_use;
    if (read_since_drop_ && device_->tells_what_is_read) use.cached_bytes += 4096;
    return use;
  }
  Result<uint64_t> NextData(uint64_t offset) override { return offset; }
  Result<uint64_t> Size() override { return static_cast<uint64_t>(bytes_->size()); }
  Status Truncate(uint64_t size) override {
    if (size > kMaxBytes) return Full();
    bytes_->resize(static_cast<size_t>(size));
    return Status::Ok();
  }
  Status Allocate(uint64_t offset, uint64_t length) override {
    if (offset > kMaxBytes || length > kMaxBytes - offset) return Full();
    if (bytes_->size() < offset + length) bytes_->resize(static_cast<size_t>(offset + length));
    return Status::Ok();
  }
  Status ZeroRange(uint64_t, uint64_t) override {
    return Status::Error(Code::kUnsupported, "files in memory have no extents");
  }
  Result<std::unique_ptr<Mapping>> Map(uint64_t, size_t) override {
    return Status::Error(Code::kUnsupported, "files in memory have no maps");
  }
  Status Close() override {
    bytes_ = std::make_shared<MemoryBytes>();
    return Status::Ok();
  }

 private:
  Status Admit(uint64_t offset, const void* from, size_t length) {
    const uint64_t misaligned = offset | length | reinterpret_cast<uintptr_t>(from);
    if (direct_ && misaligned % device_->direct_alignment != 0) {
      return Status::Error(Code::kIo, "a direct write is not aligned");
    }
    if (length > device_->longest_write) return Full();
    const std::lock_guard<std::mutex> guard(device_->mutex);
    device_->awaiting_full_sync.insert(bytes_.get());
    return Status::Ok();
  }
  static Status Full() { return Status::Error(Code::kNoSpace, "the file would be too long"); }
  std::shared_ptr<MemoryBytes> bytes_;
  const std::function<void(size_t)>* const after_read_;
  MemoryDevice* const device_;
  const bool direct_;
  std::atomic<bool> read_since_drop_{false};
};

// The folder's content, kept by the test: its files outlive every Directory on it.
struct MemoryFolder : std::map<std::string, std::shared_ptr<MemoryBytes>> {
  // As on Windows without POSIX semantics: no rename replaces a file that is open.
  bool keeps_open_names = false;
  Capabilities capabilities = DefaultCapabilities();

  static Capabilities DefaultCapabilities() {
    Capabilities capabilities;
    capabilities.file_system = "memory";
    capabilities.direct_io = true;
    return capabilities;
  }
};

class MemoryLock final : public FileLock {};

class MemoryDirectory final : public Directory {
 public:
  MemoryDirectory(MemoryFolder& files, const std::function<void(size_t)>& after_read,
                  MemoryDevice& device)
      : files_(files), after_read_(after_read), device_(device) {}

  const std::string& path() const override { return path_; }
  Result<std::unique_ptr<File>> Open(const std::string& name, OpenMode mode) override {
    const std::lock_guard<std::mutex> guard(device_.names);
    const auto found = files_.find(name);
    if (CreatesFile(mode)) {
      if (found != files_.end()) return Status::Error(Code::kIo, "the name is taken");
      files_[name] = std::make_shared<MemoryBytes>();
    } else if (found == files_.end()) {
      return Status::Error(Code::kNotFound, "no such file").WithPath(name);
    }
    const bool direct = IsDirect(mode);
    return std::unique_ptr<File>(new MemoryFile(files_[name], &after_read_, &device_, direct));
  }
  std::unique_ptr<File> OpenCached(const std::string& name) override {
    if (device_.cached_bytes == 0) return nullptr;
    Result<std::unique_ptr<File>> file = Open(name, OpenMode::kRead);
    return file.ok() ? std::move(*file) : nullptr;
  }
  Result<std::vector<FileEntry>> List() override {
    const std::lock_guard<std::mutex> guard(device_.names);
    std::vector<FileEntry> entries;
    for (const auto& [name, bytes] : files_) entries.push_back(FileEntry{name, true});
    return entries;
  }
  Status Rename(const std::string& from, const std::string& to) override {
    const std::lock_guard<std::mutex> guard(device_.names);
    const auto found = files_.find(from);
    if (found == files_.end()) return Status::Error(Code::kNotFound, "no such file");
    if (IsKept(to)) return Status::Error(Code::kIo, "the file is open").WithPath(to);
    files_[to] = found->second;
    files_.erase(from);
    return Status::Ok();
  }
  Status Remove(const std::string& name) override {
    const std::lock_guard<std::mutex> guard(device_.names);
    if (files_.erase(name) == 0) return Status::Error(Code::kNotFound, "no such file");
    return Status::Ok();
  }
  Status Sync() override { return Status::Ok(); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string&) override {
    return std::unique_ptr<FileLock>(new MemoryLock);
  }
  Result<Capabilities> Probe() override {
    Capabilities capabilities = files_.capabilities;
    capabilities.direct_alignment =
        std::max(capabilities.direct_alignment, device_.direct_alignment);
    capabilities.overwrites_in_place |= device_.overwrites_in_place;
    return capabilities;
  }

 private:
  // An open file shares its bytes with the folder.
  bool IsKept(const std::string& name) const {
    const auto found = files_.find(name);
    return files_.keeps_open_names && found != files_.end() && found->second.use_count() > 1;
  }

  MemoryFolder& files_;
  const std::function<void(size_t)>& after_read_;
  MemoryDevice& device_;
  const std::string path_ = "memory";
};

// Every path is the one folder. Time and salts are counters, so that a run can be repeated.
class MemoryFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<Directory>> OpenDirectory(const std::string& path, bool) override {
    MemoryFolder& folder = path == "memory" ? files : elsewhere;
    return std::unique_ptr<Directory>(new MemoryDirectory(folder, after_read, device));
  }
  uint64_t NowMs() override { return now_ms_++; }
  uint64_t MonotonicMicros() override { return 0; }
  uint64_t Random64() override { return random_ += 0x9e3779b97f4a7c15; }

  MemoryFolder files;  // of the path "memory"
  MemoryDevice device;
  MemoryFolder elsewhere;  // of every other path: backups
  // If set, called with the length after each read of a file, so that a test can play a writer.
  std::function<void(size_t)> after_read;

 private:
  std::atomic<uint64_t> now_ms_{1'700'000'000'000};
  std::atomic<uint64_t> random_{1};
};

}  // namespace durlog
