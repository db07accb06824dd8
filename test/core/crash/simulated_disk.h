// A file system in memory that can lose power, lose its process, run full and fail: the platform
// layer as the core sees it, over SimulatedInode's model of cache and device.
//
// Names: a creation, rename or removal is one change of the folder's own journal. It is durable
// after Directory::Sync, and may be before, in the order in which the changes were made. How much
// more a sync makes durable than it has to depends on the file system: see Habit.
#ifndef DURLOG_TEST_CORE_CRASH_SIMULATED_DISK_H_
#define DURLOG_TEST_CORE_CRASH_SIMULATED_DISK_H_

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

// What a file system does beyond what POSIX asks of it.
enum class Habit : uint8_t {
  kNothingMore,  // each inode and the folder have a journal of their own
  kOneJournal,   // ext4, XFS: a sync takes every earlier metadata change with it, in one order
  kNameToo,      // Btrfs: a file's sync takes its name with it, ahead of older changes
};

// What can fail, and where the power can go.
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
// The disk and its cache are as they were; kLock and kNow are for the caller to judge.
bool ChangesNothing(Call call);

// The n-th call of a kind fails.
struct Fault {
  Call call;
  uint64_t nth;  // from 1 on
  int error;     // errno
  uint64_t times;
};

// A disk that is broken on purpose: the explorer must find it out.
struct Lies {
  bool commit_sync = false;     // fdatasync, msync and direct writes say OK and do nothing
  bool directory_sync = false;  // so does the folder's
  bool truncate = false;        // a file cut short is cut in the cache only
  bool cache = false;           // what a failed sync has left in the cache stays there
  bool owners = false;          // nobody is seen to hold a lock
};

struct DiskTraits {
  Capabilities capabilities;
  Habit habit = Habit::kNothingMore;
  bool can_allocate = true;  // fallocate is there
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
  // Stands still. Who waits for time to pass lets others get on.
  uint64_t MonotonicMicros() override {
    Wait();
    return 0;
  }
  uint64_t Random64() override { return random_.Next(); }
  BootId CurrentBoot() override { return BootId{boot_}; }

  // As OpenDirectory(), by one of several processes.
  Result<std::unique_ptr<Directory>> OpenDirectoryAs(uint32_t process, const std::string& path,
                                                     bool create);
  // A process dies, with its locks and its maps. What it would do yet must not happen.
  void Kill(uint32_t process);
  // From here on every lock can be had, and nobody is seen to hold one.
  void set_lock_free(bool lock_free) { lock_free_ = lock_free; }
  // What the page cache holds of a file, which is there.
  uint8_t* CacheOf(const std::string& name) { return names_.at(name)->cache(); }
  std::vector<std::string> Names() const;

  void set_now_ms(uint64_t now_ms) { now_ms_ = now_ms; }
  uint64_t now_ms() const { return now_ms_; }
  void set_capacity_blocks(uint64_t blocks) { pool_.limit = blocks; }
  uint64_t used_blocks() const { return pool_.used; }
  void set_fault(const Fault& fault) {
    fault_ = fault;
    fault_.nth += calls_[static_cast<size_t>(fault.call)];
  }
  void clear_fault() { fault_.times = 0; }
  // Nothing fails, nobody is told and nothing drifts while the disk is looked at from outside.
  void set_quiet(bool quiet) { quiet_ = quiet; }
  bool fault_has_struck() const { return struck_; }
  // Whether a failed sync has left anything in the cache that looks well and is not on the device.
  bool HasLostSectors() const;
  const DiskTraits& traits() const { return traits_; }

  // Called at every call's beginning, and in the middle of some writes.
  std::function<void(Call)> on_call;
  // Where set, called by who waits for others.
  std::function<void()> on_wait;
  // Told of what a program must not do whatever the disk does.
  std::function<void(const std::string&)> on_misuse;
  // Where set, told of every call.
  std::function<void(const std::string&)> on_trace;

  // Takes note of stores into maps; those that come later are told from those that came before.
  void AbsorbStores();
  // The disk as it is when the machine comes up again.
  std::unique_ptr<SimulatedDisk> AfterPowerCut(Random* random);
  // The disk as the next process finds it. With `in_store`, the process died in the middle of its
  // stores since AbsorbStores().
  std::unique_ptr<SimulatedDisk> AfterKill(Random* random, bool in_store);

 private:
  friend class SimulatedDirectory;
  friend class SimulatedFile;
  friend class SimulatedMapping;
  using Inode = std::shared_ptr<SimulatedInode>;

  // One name on the device, and the change that put it there or took it away (inode null).
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

  // At the beginning of each call: count, tell, fail if it is time to.
  Status Enter(Call call, const std::string& name);
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
  Fault fault_{Call::kRead, 0, 0, 0};
  bool struck_ = false;
  bool quiet_ = false;
  bool lock_free_ = false;
};

}  // namespace durlog::crash

#endif  // DURLOG_TEST_CORE_CRASH_SIMULATED_DISK_H_
