// A file system in memory that can lose power, lose its process, run full and fail. It implements
// the core's platform layer on top of SimulatedInode, which models the cache and the device.
//
// Names: a creation, rename or removal is one change in the folder's journal. It is durable after
// Directory::Sync, and may become durable earlier. Changes become durable in the order in which
// they were made. Some file systems make more durable at a sync than they must: see Habit.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "platform/file_system.h"
#include "random.h"
#include "simulated_inode.h"

namespace durlog::crash {

// The changes that a sync makes durable in addition to those that POSIX requires.
enum class Habit : uint8_t {
  kNothingMore,  // each inode has its own journal, and so has the folder
  kOneJournal,   // ext4, XFS: a sync takes every earlier metadata change with it, in one order
  kNameToo,      // Btrfs: a file's sync makes its name durable, ahead of older changes
};

// The calls that can fail, and at which the power can be cut.
enum class Call : uint8_t {
  kOpenDirectory,
  kOpen,
  kList,
  kRename,
  kRemove,
  kSyncDirectory,
  kLock,
  kProbe,
  kRead,
  kWrite,
  kWriteDirect,
  kStartWriteback,
  kSyncData,
  kSyncFull,
  kSize,
  kTruncate,
  kAllocate,
  kMap,
  kPopulate,
  kSyncMap,
  kDropCache,
  kNextData,
  kClose,
  kNow,
};
inline constexpr size_t kCallCount = 24;
const char* NameOf(Call call);
// Whether the call leaves the disk and its cache unchanged. The caller judges kLock and kNow.
bool ChangesNothing(Call call);

// The calls that bring data to the device; they also report an earlier failure to write it.
bool IsSync(Call call);

// The n-th call of a kind fails.
struct Fault {
  Call call;
  uint64_t nth;  // from 1 on
  int error;     // errno
  uint64_t times;
};

// A call that has failed because of a Fault. `name` begins with the name of its file.
struct Strike {
  Call call;
  int error;
  std::string name;

  bool IsOf(const char* file) const { return name.rfind(file, 0) == 0; }
  // Of a segment, or of a file that becomes one.
  bool IsOfSegment() const { return IsOf("spare-") || name.find(".seg") != std::string::npos; }
};

// A disk that is broken on purpose: the explorer must detect each of these lies.
struct Lies {
  bool commit_sync = false;     // fdatasync, msync and direct writes say OK and do nothing
  bool directory_sync = false;  // so does the folder's
  bool truncate = false;        // a truncation changes the cache only
  bool cache = false;           // sectors of a failed sync stay in the cache
  bool owners = false;          // every lock looks free
};

struct DiskTraits {
  Capabilities capabilities;
  Habit habit = Habit::kNothingMore;
  bool can_allocate = true;  // fallocate is supported
  uint64_t max_file_bytes = 0;
  Lies lies;
};

class SimulatedDisk final : public FileSystem {
 public:
  SimulatedDisk(const DiskTraits& traits, uint64_t seed);
  ~SimulatedDisk() override;

  // FileSystem
  Result<std::unique_ptr<Directory>> OpenDirectory(const std::string& path, bool create) override;
  uint64_t NowMs() override;
  // The clock does not advance. A caller that waits for time to pass lets other workers run.
  uint64_t MonotonicMicros() override {
    Wait();
    return 0;
  }
  uint64_t Random64() override { return random_.Next(); }
  BootId CurrentBoot() override { return BootId{boot_}; }

  // OpenDirectory() as called by one of several processes.
  Result<std::unique_ptr<Directory>> OpenDirectoryAs(uint32_t process, const std::string& path,
                                                     bool create);
  // Kills a process and drops its locks and maps. The process must make no further call.
  void Kill(uint32_t process);
  // While set, every lock is free and can be taken.
  void set_lock_free(bool lock_free) { lock_free_ = lock_free; }
  // The contents of a file in the page cache. The file must exist.
  uint8_t* CacheOf(const std::string& name) { return names_.at(name)->cache(); }
  std::vector<std::string> Names() const;

  void set_now_ms(uint64_t now_ms) { now_ms_ = now_ms; }
  uint64_t now_ms() const { return now_ms_; }
  void set_capacity_blocks(uint64_t blocks) { pool_.limit = blocks; }
  uint64_t used_blocks() const { return pool_.used; }
  void add_fault(const Fault& fault) {
    faults_.push_back(fault);
    faults_.back().nth += calls_[static_cast<size_t>(fault.call)];
  }
  void clear_faults() { faults_.clear(); }
  // While set, no call fails, no callback runs and no page is written back: for inspecting the
  // disk.
  void set_quiet(bool quiet) { quiet_ = quiet; }
  const std::vector<Strike>& strikes() const { return strikes_; }
  bool fault_has_struck() const { return !strikes_.empty(); }
  // Whether a failed sync has left sectors clean in the cache that are not on the device.
  bool HasLostSectors() const;
  const DiskTraits& traits() const { return traits_; }

  // Called at the beginning of every call, and in the middle of some writes.
  std::function<void(Call)> on_call;
  // If set, called when a caller waits for other workers.
  std::function<void()> on_wait;
  // Called when the program makes a call that is wrong on any disk.
  std::function<void(const std::string&)> on_misuse;
  // If set, receives a description of every call.
  std::function<void(const std::string&)> on_trace;

  // Records the stores into maps so far, so that AfterKill() can revert only later ones.
  void AbsorbStores();
  // The disk after a power cut and a reboot.
  std::unique_ptr<SimulatedDisk> AfterPowerCut(Random* random);
  // The disk as the next process finds it. If `in_store` is set, the process died in the middle of
  // the stores that follow AbsorbStores().
  std::unique_ptr<SimulatedDisk> AfterKill(Random* random, bool in_store);

 private:
  friend class SimulatedDirectory;
  friend class SimulatedFile;
  friend class SimulatedMapping;
  using Inode = std::shared_ptr<SimulatedInode>;

  // One name on the device, and the change that added it or removed it (inode null).
  struct DurableName {
    Inode inode;
    uint64_t order;
  };
  struct NameChange {
    uint64_t order;
    std::string removed;  // "" for none
    std::string added;    // "" for none
    Inode inode;
  };

  // Begins each call: counts it, runs the callbacks, and returns the error if a fault is due.
  Status Enter(Call call, const std::string& name, bool may_fail = true);
  void Interrupt(Call call);
  void Wait() {
    if (on_wait) on_wait();
  }
  void Misuse(const std::string& what);
  void Trace(const std::string& what);
  void ChangeNames(const std::string& removed, const std::string& added, Inode inode);
  void ApplyNames(std::map<std::string, DurableName>* names, const NameChange& change) const;
  void CommitNamesBefore(uint64_t order);
  void CommitNameOf(const Inode& inode);
  void CommitEverythingBefore(uint64_t order);
  void Drift();
  std::vector<Inode> AllInodes() const;
  template <typename Copy>
  std::unique_ptr<SimulatedDisk> CopyWith(Copy copy) const;

  const DiskTraits traits_;
  Random random_;
  std::shared_ptr<uint64_t> order_ = std::make_shared<uint64_t>(1);
  uint64_t now_ms_ = 1700000000000;
  uint8_t boot_ = 1;
  BlockPool pool_;
  bool folder_exists_ = false;
  std::map<std::string, Inode> names_;
  std::map<std::string, DurableName> durable_names_;
  std::vector<NameChange> name_changes_;
  std::vector<std::string> locked_;
  std::array<uint64_t, kCallCount> calls_{};
  std::vector<Fault> faults_;
  std::vector<Strike> strikes_;
  bool quiet_ = false;
  bool lock_free_ = false;
};

}  // namespace durlog::crash
