// An open file of ModelFiles, and its maps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model_files.h"
#include "turns.h"

namespace durlog::schedules {

// A call that changes something, or that reads what another member can still change, is a turn:
// other members may take turns before it. Its member learns the result.
class CallTurn {
 public:
  // A call that changes `names`, sizes, contents or locks.
  CallTurn(const ModelFiles& files, const char* call, std::string name)
      : call_(call), name_(std::move(name)) {
    if (Turns::Current() != nullptr) Turns::Current()->BeginCall();
    changes_before_ = files.changes();
  }
  // A call that reads `objects`.
  CallTurn(const ModelFiles& files, const char* call, std::string name, Objects objects)
      : call_(call), name_(std::move(name)) {
    if (Turns::Current() != nullptr) Turns::Current()->BeginRead(objects);
    changes_before_ = files.changes();
  }
  ~CallTurn() {
    if (in_run_) Turns::Current()->EndCall(call_, name_, result_, changes_before_);
  }
  bool in_run() const { return in_run_; }
  CallTurn(const CallTurn&) = delete;
  CallTurn& operator=(const CallTurn&) = delete;
  void set_result(uint64_t result) { result_ = result; }

 private:
  const char* const call_;
  const std::string name_;
  const bool in_run_ = Turns::Current() != nullptr;
  uint64_t changes_before_ = 0;
  uint64_t result_ = 0;
};

class ModelMapping final : public Mapping {
 public:
  ModelMapping(ModelFiles* files, std::shared_ptr<ModelInode> inode)
      : files_(files), inode_(std::move(inode)) {}
  uint8_t* data() override { return inode_->bytes.data(); }
  size_t size() const override { return inode_->bytes.size(); }
  Status Populate(size_t, size_t) override { return Status::Ok(); }
  Status Sync(size_t, size_t) override {
    ++files_->syncs_;
    return Status::Ok();
  }
  bool WaitOn(size_t, uint32_t, uint64_t) override { return false; }

 private:
  ModelFiles* const files_;
  const std::shared_ptr<ModelInode> inode_;
};

class ModelFile final : public File {
 public:
  ModelFile(ModelFiles* files, std::shared_ptr<ModelInode> inode)
      : files_(files), inode_(std::move(inode)), open_(++files->opens_) {}
  ~ModelFile() override { static_cast<void>(UnlockRange(0, 0).ok()); }

  Result<size_t> ReadAt(uint64_t offset, void* to, size_t length) override;
  Status WriteAt(uint64_t offset, const void* from, size_t length) override;
  Status StartWriteback(uint64_t, uint64_t) override { return Status::Ok(); }
  Status SyncData() override { return Sync(); }
  Status SyncFull() override { return Sync(); }
  Status DropCache() override { return Status::Ok(); }
  Result<uint64_t> NextData(uint64_t offset) override { return offset; }
  Result<uint64_t> Size() override {
    CallTurn stop = Reading("asks for the size of", inode_->Size());
    stop.set_result(inode_->bytes.size());
    return uint64_t{inode_->bytes.size()};
  }
  Status Truncate(uint64_t size) override {
    const CallTurn stop = Changing("truncates");
    return SetSize(size);
  }
  Status Allocate(uint64_t offset, uint64_t length) override {
    const CallTurn stop = Changing("allocates");
    return offset + length > inode_->bytes.size() ? SetSize(offset + length) : Status::Ok();
  }
  Status ZeroRange(uint64_t, uint64_t) override {
    return Status::Error(Code::kUnsupported, "files of the model have no extents");
  }
  Result<std::unique_ptr<Mapping>> Map(uint64_t, size_t) override {
    inode_->is_mapped = true;
    return std::unique_ptr<Mapping>(new ModelMapping(files_, inode_));
  }
  Result<std::unique_ptr<Mapping>> MapForReading(uint64_t offset, size_t length) override {
    return Map(offset, length);
  }
  Result<bool> IsLocked() override {
    const Result<std::optional<LockKind>> kind = RangeLockOfOthers(0, 0);
    return kind->has_value();
  }
  Result<bool> TryLockRange(LockKind kind, uint64_t begin, uint64_t length) override;
  Status UnlockRange(uint64_t begin, uint64_t length) override;
  Result<std::optional<LockKind>> RangeLockOfOthers(uint64_t begin, uint64_t length) override;
  Result<FileId> Id() override { return FileId{1, inode_->id}; }
  Status Close() override { return Status::Ok(); }

 private:
  static uint64_t EndOf(uint64_t begin, uint64_t length) {
    return length == 0 ? UINT64_MAX : begin + length;
  }
  const HeldRange* Other(uint64_t begin, uint64_t end, bool exclusive_only) const {
    for (const HeldRange& held : inode_->locks) {
      if (held.open == open_ || held.end <= begin || end <= held.begin) continue;
      if (!exclusive_only || held.kind == LockKind::kExclusive) return &held;
    }
    return nullptr;
  }
  bool IsOurs(const HeldRange& held, uint64_t begin, uint64_t end) const {
    return held.open == open_ && held.begin < end && begin < held.end;
  }
  void Release(uint64_t begin, uint64_t end);
  CallTurn Changing(const char* call) const {
    return CallTurn(*files_, call, std::to_string(inode_->id));
  }
  CallTurn Reading(const char* call, Objects objects) const {
    return CallTurn(*files_, call, std::to_string(inode_->id), objects);
  }
  // A sync is no turn: it makes no difference to another member whether it comes before or after.
  Status Sync() {
    ++files_->syncs_;
    return Status::Ok();
  }
  Status SetSize(uint64_t size);
  void Note(uint64_t begin, uint64_t end, bool is_before);

  ModelFiles* const files_;
  const std::shared_ptr<ModelInode> inode_;
  const uint64_t open_;
};

}  // namespace durlog::schedules
