#include "simulated_disk.h"

#include <algorithm>
#include <cerrno>
#include <unordered_map>
#include <utility>

#include "simulated_file.h"

namespace durlog::crash {

const char* NameOf(Call call) {
  static constexpr const char* kNames[kCallCount] = {
      "open folder", "open",  "list",       "rename",    "remove",       "sync folder",
      "lock",        "probe", "read",       "write",     "write direct", "start writeback",
      "fdatasync",   "fsync", "size",       "truncate",  "allocate",     "map",
      "populate",    "msync", "drop cache", "next data", "close",        "now"};
  return kNames[static_cast<size_t>(call)];
}

bool ChangesNothing(Call call) {
  switch (call) {
    case Call::kOpenDirectory:
    case Call::kOpen:
    case Call::kList:
    case Call::kProbe:
    case Call::kRead:
    case Call::kSize:
    case Call::kClose:
    case Call::kMap:
    case Call::kPopulate:
    case Call::kDropCache:
    case Call::kNextData: return true;
    default: return false;
  }
}

bool IsSync(Call call) {
  return call == Call::kSyncData || call == Call::kSyncMap || call == Call::kSyncFull ||
         call == Call::kSyncDirectory || call == Call::kStartWriteback;
}

SimulatedDisk::SimulatedDisk(const DiskTraits& traits, uint64_t seed)
    : traits_(traits), random_(seed) {}

SimulatedDisk::~SimulatedDisk() = default;

Result<std::unique_ptr<Directory>> SimulatedDisk::OpenDirectory(const std::string& path,
                                                                bool create) {
  return OpenDirectoryAs(0, path, create);
}

Result<std::unique_ptr<Directory>> SimulatedDisk::OpenDirectoryAs(uint32_t process,
                                                                  const std::string& path,
                                                                  bool create) {
  DURLOG_RETURN_IF_ERROR(Enter(Call::kOpenDirectory, path));
  if (!folder_exists_ && !create) {
    return Status::System("open", ENOENT, path).WithCode(Code::kNotFound);
  }
  folder_exists_ = true;
  return std::unique_ptr<Directory>(new SimulatedDirectory(this, path, process));
}

void SimulatedDisk::Kill(uint32_t process) {
  for (const Inode& inode : AllInodes()) inode->ForgetProcess(process);
}

std::vector<std::string> SimulatedDisk::Names() const {
  std::vector<std::string> names;
  for (const auto& entry : names_) names.push_back(entry.first);
  return names;
}

uint64_t SimulatedDisk::NowMs() {
  Interrupt(Call::kNow);
  return now_ms_;
}

Status SimulatedDisk::Enter(Call call, const std::string& name, bool may_fail) {
  if (quiet_) return Status::Ok();
  Trace(std::string(NameOf(call)) + " " + name);
  Interrupt(call);
  if (random_.OneIn(16)) Drift();
  const uint64_t count = ++calls_[static_cast<size_t>(call)];
  const auto due = std::find_if(faults_.begin(), faults_.end(), [&](const Fault& fault) {
    return may_fail && fault.times > 0 && fault.call == call && count >= fault.nth;
  });
  if (due == faults_.end()) return Status::Ok();
  --due->times;
  strikes_.push_back(Strike{call, due->error, name});
  Trace("  fails, errno " + std::to_string(due->error));
  return IsSync(call) ? Status::OfSync(NameOf(call), due->error, name)
                      : Status::System(NameOf(call), due->error, name);
}

void SimulatedDisk::Interrupt(Call call) {
  if (on_call && !quiet_) on_call(call);
}

void SimulatedDisk::Misuse(const std::string& what) {
  if (on_misuse) on_misuse(what);
}

void SimulatedDisk::Trace(const std::string& what) {
  if (on_trace) on_trace(what);
}

// Writeback that the kernel starts by itself, without a request from a process.
void SimulatedDisk::Drift() {
  const uint64_t limit = *order_ - random_.Below(std::min<uint64_t>(*order_, 6));
  if (traits_.habit == Habit::kOneJournal) {
    if (random_.OneIn(4)) CommitEverythingBefore(limit);
  } else if (random_.OneIn(4)) {
    CommitNamesBefore(limit);
  }
  std::vector<Inode> inodes = AllInodes();
  if (inodes.empty()) return;
  SimulatedInode& inode = *inodes[static_cast<size_t>(random_.Below(inodes.size()))];
  inode.WriteBackSome(0, inode.size(), &random_);
}

void SimulatedDisk::ChangeNames(const std::string& removed, const std::string& added, Inode inode) {
  name_changes_.push_back(NameChange{(*order_)++, removed, added, std::move(inode)});
}

// Skips a name that a younger change has already set: kNameToo commits names out of order.
void SimulatedDisk::ApplyNames(std::map<std::string, DurableName>* names,
                               const NameChange& change) const {
  const auto settle = [&](const std::string& name, Inode inode) {
    const auto found = names->find(name);
    if (found != names->end() && found->second.order > change.order) return;
    (*names)[name] = DurableName{std::move(inode), change.order};
  };
  if (!change.removed.empty()) settle(change.removed, nullptr);
  if (!change.added.empty()) settle(change.added, change.inode);
}

void SimulatedDisk::CommitNamesBefore(uint64_t order) {
  size_t done = 0;
  while (done < name_changes_.size() && name_changes_[done].order < order) {
    ApplyNames(&durable_names_, name_changes_[done++]);
  }
  name_changes_.erase(name_changes_.begin(), name_changes_.begin() + static_cast<ptrdiff_t>(done));
}

void SimulatedDisk::CommitNameOf(const Inode& inode) {
  for (const NameChange& change : name_changes_) {
    if (change.inode == inode) ApplyNames(&durable_names_, change);
  }
}

void SimulatedDisk::CommitEverythingBefore(uint64_t order) {
  CommitNamesBefore(order);
  for (const Inode& inode : AllInodes()) inode->CommitBefore(order);
}

std::vector<SimulatedDisk::Inode> SimulatedDisk::AllInodes() const {
  std::vector<Inode> all;
  const auto add = [&all](const Inode& inode) {
    if (inode && std::find(all.begin(), all.end(), inode) == all.end()) all.push_back(inode);
  };
  for (const auto& entry : names_) add(entry.second);
  for (const auto& entry : durable_names_) add(entry.second.inode);
  for (const NameChange& change : name_changes_) add(change.inode);
  return all;
}

bool SimulatedDisk::HasLostSectors() const {
  return std::any_of(names_.begin(), names_.end(),
                     [](const auto& entry) { return entry.second->HasLostSectors(); });
}

void SimulatedDisk::AbsorbStores() {
  for (const auto& entry : names_) entry.second->Absorb();
}

template <typename Copy>
std::unique_ptr<SimulatedDisk> SimulatedDisk::CopyWith(Copy copy) const {
  auto disk = std::make_unique<SimulatedDisk>(traits_, 0);
  disk->folder_exists_ = folder_exists_;
  disk->now_ms_ = now_ms_;
  disk->boot_ = boot_;
  *disk->order_ = *order_;
  std::unordered_map<const SimulatedInode*, Inode> copies;
  copy(disk.get(), [&](const Inode& inode, auto make) {
    if (!inode) return Inode();
    Inode& made = copies[inode.get()];
    if (!made) made = make(disk->order_);
    return made;
  });
  for (const Inode& inode : disk->AllInodes()) disk->pool_.used += inode->CountBlocks();
  return disk;
}

std::unique_ptr<SimulatedDisk> SimulatedDisk::AfterPowerCut(Random* random) {
  static constexpr Survival kSurvivals[] = {Survival::kNothing, Survival::kSome,
                                            Survival::kSome,    Survival::kMost,
                                            Survival::kMost,    Survival::kEverything};
  const Survival survival = kSurvivals[random->Below(sizeof kSurvivals / sizeof kSurvivals[0])];
  const auto journal_end = [&] {
    const uint64_t kind = random->Below(4);
    if (kind == 0) return uint64_t{0};
    if (kind == 1) return UINT64_MAX;
    return *order_ - random->Below(std::min<uint64_t>(*order_, 8));
  };
  const uint64_t common_end = journal_end();
  const bool one_journal = traits_.habit == Habit::kOneJournal;
  auto disk = CopyWith([&](SimulatedDisk* to, auto copy_of) {
    std::map<std::string, DurableName> names = durable_names_;
    const uint64_t names_end = one_journal ? common_end : journal_end();
    for (const NameChange& change : name_changes_) {
      if (change.order < names_end) ApplyNames(&names, change);
    }
    for (const auto& [name, durable] : names) {
      if (!durable.inode) continue;
      const uint64_t end = one_journal ? common_end : journal_end();
      Inode inode = copy_of(durable.inode, [&](const std::shared_ptr<uint64_t>& order) {
        return durable.inode->AfterPowerCut(random, survival, end, order);
      });
      to->names_[name] = inode;
      to->durable_names_[name] = DurableName{inode, 0};
    }
  });
  ++disk->boot_;
  disk->random_ = Random(random->Next());
  return disk;
}

std::unique_ptr<SimulatedDisk> SimulatedDisk::AfterKill(Random* random, bool in_store) {
  auto disk = CopyWith([&](SimulatedDisk* to, auto copy_of) {
    const auto copied = [&](const Inode& inode) {
      return copy_of(inode, [&](const std::shared_ptr<uint64_t>& order) {
        return inode->AfterKill(in_store ? random : nullptr, order);
      });
    };
    for (const auto& [name, inode] : names_) to->names_[name] = copied(inode);
    for (const auto& [name, durable] : durable_names_) {
      to->durable_names_[name] = DurableName{copied(durable.inode), durable.order};
    }
    for (const NameChange& change : name_changes_) {
      to->name_changes_.push_back(
          NameChange{change.order, change.removed, change.added, copied(change.inode)});
    }
  });
  disk->random_ = Random(random->Next());
  return disk;
}

}  // namespace durlog::crash
