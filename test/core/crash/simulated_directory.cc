#include <algorithm>
#include <cerrno>

#include "simulated_file.h"

namespace durlog::crash {
namespace {

class SimulatedLock final : public FileLock {
 public:
  SimulatedLock(std::vector<std::string>* locked, std::string name)
      : locked_(locked), name_(std::move(name)) {}
  ~SimulatedLock() override { locked_->erase(std::find(locked_->begin(), locked_->end(), name_)); }

 private:
  std::vector<std::string>* const locked_;
  const std::string name_;
};

}  // namespace

Status SimulatedDirectory::NotFound(const std::string& name) const {
  return Status::System("openat", ENOENT, path_ + "/" + name).WithCode(Code::kNotFound);
}

Result<std::unique_ptr<File>> SimulatedDirectory::Open(const std::string& name, OpenMode mode) {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kOpen, name));
  const auto found = disk_->names_.find(name);
  if (IsDirect(mode) && !disk_->traits_.capabilities.direct_io) {
    return Status::System("openat", EINVAL, name).WithCode(Code::kUnsupported);
  }
  if (CreatesFile(mode)) {
    if (found != disk_->names_.end()) return Status::System("openat", EEXIST, name);
    auto inode = std::make_shared<SimulatedInode>(disk_->traits_.max_file_bytes, disk_->order_);
    disk_->names_[name] = inode;
    disk_->ChangeNames("", name, inode);
    return std::unique_ptr<File>(new SimulatedFile(disk_, inode, name, mode, process_));
  }
  if (found == disk_->names_.end()) return NotFound(name);
  return std::unique_ptr<File>(new SimulatedFile(disk_, found->second, name, mode, process_));
}

Result<std::vector<FileEntry>> SimulatedDirectory::List() {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kList, path_));
  std::vector<FileEntry> entries;
  for (const auto& entry : disk_->names_) entries.push_back(FileEntry{entry.first, true});
  return entries;
}

void SimulatedDirectory::Unlink(const std::string& name) {
  const auto found = disk_->names_.find(name);
  if (found == disk_->names_.end()) return;
  found->second->FreeBlocksFrom(0, &disk_->pool_);
  disk_->names_.erase(found);
}

Status SimulatedDirectory::Rename(const std::string& from, const std::string& to) {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kRename, from + " to " + to));
  const auto found = disk_->names_.find(from);
  if (found == disk_->names_.end()) return NotFound(from);
  std::shared_ptr<SimulatedInode> inode = found->second;
  disk_->names_.erase(found);
  Unlink(to);
  disk_->names_[to] = inode;
  disk_->ChangeNames(from, to, inode);
  return Status::Ok();
}

Status SimulatedDirectory::Remove(const std::string& name) {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kRemove, name));
  if (disk_->names_.count(name) == 0) return NotFound(name);
  Unlink(name);
  disk_->ChangeNames(name, "", nullptr);
  return Status::Ok();
}

Status SimulatedDirectory::Sync() {
  if (sync_failure_.ok()) sync_failure_ = disk_->Enter(Call::kSyncDirectory, path_);
  if (!sync_failure_.ok()) return sync_failure_;
  if (disk_->traits_.lies.directory_sync) return Status::Ok();
  if (disk_->traits_.habit == Habit::kOneJournal) {
    disk_->CommitEverythingBefore(UINT64_MAX);
  } else {
    disk_->CommitNamesBefore(UINT64_MAX);
  }
  return Status::Ok();
}

Result<std::unique_ptr<FileLock>> SimulatedDirectory::Lock(const std::string& name) {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kLock, name));
  std::vector<std::string>& locked = disk_->locked_;
  if (std::find(locked.begin(), locked.end(), name) != locked.end()) {
    return Status::Error(Code::kLocked, "another writer has the log open").WithOwner(1);
  }
  if (disk_->names_.count(name) == 0) {
    auto inode = std::make_shared<SimulatedInode>(disk_->traits_.max_file_bytes, disk_->order_);
    disk_->names_[name] = inode;
    disk_->ChangeNames("", name, inode);
  }
  locked.push_back(name);
  return std::unique_ptr<FileLock>(new SimulatedLock(&locked, name));
}

Result<Capabilities> SimulatedDirectory::Probe() {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kProbe, path_));
  return disk_->traits_.capabilities;
}

}  // namespace durlog::crash
