#include "model_files.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "model_file.h"
#include "turns.h"

namespace durlog::schedules {

// Closing the file releases the lock.
class ModelLock final : public FileLock {
 public:
  explicit ModelLock(std::unique_ptr<File> file) : file_(std::move(file)) {}

 private:
  const std::unique_ptr<File> file_;
};

class ModelDirectory final : public Directory {
 public:
  explicit ModelDirectory(ModelFiles* files) : files_(files) {}

  const std::string& path() const override { return path_; }
  Result<std::unique_ptr<File>> Open(const std::string& name, OpenMode mode) override {
    if (CreatesFile(mode)) return Create(name);
    CallTurn turn(*files_, "opens", name, NameOf(name));
    const auto found = files_->names_.find(name);
    if (found == files_->names_.end()) return NotFound(name);
    turn.set_result(found->second->id + 2);
    return std::unique_ptr<File>(new ModelFile(files_, found->second));
  }
  Result<std::vector<FileEntry>> List() override {
    CallTurn turn(*files_, "lists", path_, kFolderEntries);
    std::vector<FileEntry> entries;
    uint64_t hash = 0;
    for (const auto& [name, inode] : files_->names_) {
      entries.push_back(FileEntry{name, true});
      hash = Mix(hash ^ std::hash<std::string>()(name));
    }
    turn.set_result(hash);
    return entries;
  }
  Status Rename(const std::string& from, const std::string& to) override {
    CallTurn turn(*files_, "renames", from + " to " + to);
    const auto found = files_->names_.find(from);
    if (found == files_->names_.end()) return NotFound(from);
    NoteEntry(from);
    NoteEntry(to);
    files_->names_[to] = found->second;
    files_->names_.erase(from);
    files_->NoteCallChange();
    turn.set_result(1);
    return Status::Ok();
  }
  Status Remove(const std::string& name) override {
    CallTurn turn(*files_, "removes", name);
    NoteEntry(name);
    if (files_->names_.erase(name) == 0) return NotFound(name);
    files_->NoteCallChange();
    turn.set_result(1);
    return Status::Ok();
  }
  Status Sync() override { return Status::Ok(); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& name) override {
    DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<File> file, OpenOrCreate(name));
    DURLOG_ASSIGN_OR_RETURN(const bool locked, file->TryLockRange(LockKind::kExclusive, 0, 0));
    if (!locked) return Status::Locked(0, files_->ProcessId());
    return std::unique_ptr<FileLock>(new ModelLock(std::move(file)));
  }
  Result<Capabilities> Probe() override {
    Capabilities capabilities;
    capabilities.file_system = "model";
    capabilities.direct_io = true;
    capabilities.overwrites_in_place = true;
    capabilities.shares_maps = true;
    return capabilities;
  }

 private:
  Result<std::unique_ptr<File>> Create(const std::string& name) {
    CallTurn turn(*files_, "creates", name);
    if (files_->names_.count(name) != 0) return Status::Error(Code::kIo, "the name is taken");
    NoteEntry(name);
    turn.set_result(1);
    return std::unique_ptr<File>(new ModelFile(files_, files_->Make(name)));
  }
  static void NoteEntry(const std::string& name) {
    NoteChange(NameOf(name));
    NoteChange(kFolderEntries);
  }
  static Status NotFound(const std::string& name) {
    return Status::Error(Code::kNotFound, "no such file").WithPath(name);
  }

  ModelFiles* const files_;
  const std::string path_ = "log";
};

Result<std::unique_ptr<Directory>> ModelFiles::OpenDirectory(const std::string&, bool) {
  return std::unique_ptr<Directory>(new ModelDirectory(this));
}

void NoteChange(Objects objects) {
  if (Turns::Current() != nullptr) Turns::Current()->Note(objects, Touch::kChange);
}

size_t ModelFiles::Acting() const {
  return Turns::Current() == nullptr ? acting_ : Turns::Current()->running();
}

ModelFiles::Inode ModelFiles::Make(const std::string& name) {
  auto inode = std::make_shared<ModelInode>();
  inode->id = inodes_.size();
  if (name == "shared") inode->kind = FileKind::kMembersPage;
  if (name == "live") inode->kind = FileKind::kLivePage;
  inodes_.push_back(inode);
  names_[name] = inode;
  NoteCallChange();
  return inode;
}

void ModelFiles::DropLocksOf(size_t member) {
  const auto is_theirs = [member](const HeldRange& held) { return held.member == member; };
  for (const Inode& inode : inodes_) {
    std::vector<HeldRange>& locks = inode->locks;
    locks.erase(std::remove_if(locks.begin(), locks.end(), is_theirs), locks.end());
  }
  NoteCallChange();
}

std::unique_ptr<ModelFiles> ModelFiles::Copy() const {
  auto copy = std::make_unique<ModelFiles>();
  for (const auto& [name, inode] : names_) {
    auto same = std::make_shared<ModelInode>();
    same->id = copy->inodes_.size();
    same->kind = inode->kind;
    same->bytes = inode->bytes;
    copy->inodes_.push_back(same);
    copy->names_[name] = same;
  }
  return copy;
}

Place ModelFiles::PlaceOf(const uint64_t* word) const {
  const auto at = reinterpret_cast<uintptr_t>(word);
  for (const Inode& inode : inodes_) {
    const auto begin = reinterpret_cast<uintptr_t>(inode->bytes.data());
    if (at < begin || at >= begin + inode->bytes.size()) continue;
    return Place{inode->kind, (at - begin) / sizeof(uint64_t), inode->id, true};
  }
  return Place{};
}

bool ModelFiles::NoteTouch(const Place& place, size_t member, bool stores) {
  std::vector<uint8_t>& touched = inodes_[static_cast<size_t>(place.file)]->touched;
  if (touched.size() <= place.index) touched.resize(place.index + 1);
  uint8_t& bits = touched[place.index];
  const auto others = static_cast<uint8_t>(bits & ~(0x11u << member));
  bits = static_cast<uint8_t>(bits | (0x01u << member) | (stores ? 0x10u << member : 0u));
  return (others & (stores ? 0x0f : 0xf0)) != 0;
}

void ModelFiles::NoteStore(const Place& place, uint64_t before, uint64_t after) {
  const uint64_t key = Mix((place.file << 32) + place.index);
  words_hash_ ^= Mix(key ^ before) ^ Mix(key ^ after);
}

// A lock's open file identifies its member: each member opens a file that it locks only once.
void ModelFiles::NoteCallChange() {
  ++changes_;
  calls_hash_ = 0;
  for (const auto& [name, inode] : names_) {
    calls_hash_ ^= Mix(std::hash<std::string>()(name) + inode->id);
  }
  for (const Inode& inode : inodes_) {
    calls_hash_ ^= Mix(Mix(inode->id + 1) + inode->bytes.size());
    for (const HeldRange& held : inode->locks) {
      calls_hash_ ^= Mix(Mix(Mix(held.begin ^ (inode->id << 48)) ^ held.end) + held.member * 2 +
                         static_cast<uint64_t>(held.kind));
    }
  }
}

}  // namespace durlog::schedules
