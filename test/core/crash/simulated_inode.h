// One file of the simulated disk: its contents in the page cache and on the device.
//
// The model. The device takes 512-byte sectors, each whole or not at all. A write goes to the
// cache and makes its sectors dirty; a dirty sector may reach the device at any time and in any
// order, and has reached it once a sync that covers it has returned. Changes of the size and of
// the block map form a journal: they reach the device in the order in which they were made, and a
// sector that was written after such a change never reaches the device before the change does. So
// the part of a file that was cut and has grown again reads as zeros, or as bytes that were written
// since; ext4, XFS and Btrfs guarantee this. The zeroed rest of the block that contains a cut
// reaches the device with the cut or before it (ext4 in ordered mode, XFS), unless a sync in
// between has failed and dropped that page, which leaves the old bytes after the cut.
//
// A failed sync leaves sectors clean in the cache that are not on the device. Some of them are
// stuck, like the pages that ext4 leaves in an extent that is still marked unwritten: writing them
// again through the cache changes the cache only. Dropping the cache ends this state and shows the
// contents of the device; a direct write ends it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "random.h"
#include "range_locks.h"

namespace durlog::crash {

inline constexpr uint64_t kSectorBytes = 512;
inline constexpr uint64_t kBlockBytes = 4096;

// The number of blocks on the device.
struct BlockPool {
  uint64_t limit = UINT64_MAX;
  uint64_t used = 0;

  uint64_t free() const { return used < limit ? limit - used : 0; }
};

// How many of the unsynced sectors survive a power cut.
enum class Survival : uint8_t { kNothing, kSome, kMost, kEverything };

class SimulatedInode {
 public:
  using Memory = std::shared_ptr<uint8_t>;

  // An empty file. `order` counts the metadata changes of the whole disk.
  SimulatedInode(uint64_t capacity_bytes, std::shared_ptr<uint64_t> order);
  // A file of which the cache and the device have the same contents.
  SimulatedInode(uint64_t capacity_bytes, std::shared_ptr<uint64_t> order, Memory contents);
  SimulatedInode(const SimulatedInode&) = delete;
  SimulatedInode& operator=(const SimulatedInode&) = delete;

  uint64_t size() const { return size_; }
  uint64_t capacity() const { return capacity_; }
  uint8_t* cache() { return Own(&cache_); }
  // The locks of the live processes; none survives a crash.
  RangeLocks& locks() { return locks_; }

  // These access the page cache. The caller checks the space on the device.
  size_t Read(uint64_t offset, void* to, size_t length) const;
  // An O_DIRECT read: writes the dirty sectors of the range and then reads the device.
  size_t ReadDevice(uint64_t offset, void* to, size_t length);
  void Write(uint64_t offset, const void* from, size_t length);
  void Resize(uint64_t size);
  // A truncation on a broken disk: the cache shows it, but it never reaches the device.
  void CutCache(uint64_t size);
  void ZeroRange(uint64_t offset, uint64_t length);

  // Programs store to mapped ranges without a call; Absorb() finds the changed bytes.
  void AddMapping(uint64_t offset, uint64_t length, uint32_t process);
  void RemoveMapping(uint64_t offset, uint64_t length, uint32_t process);
  // Drops the maps and locks of a process that dies.
  void ForgetProcess(uint32_t process);
  bool IsMapped(uint64_t begin, uint64_t end) const;
  // Marks pages as made writable by a worker: they are dirty until the next sync, even if no byte
  // is stored.
  void Populate(uint64_t begin, uint64_t end);
  bool IsPopulated(uint64_t begin, uint64_t end) const;
  void Absorb();

  // These write to the device.
  void SyncRange(uint64_t begin, uint64_t end);
  void SyncAll() { SyncRange(0, capacity_); }
  // An O_DIRECT|O_DSYNC write, of only those sectors of the range for which `take` returns true.
  template <typename Take>
  void SyncSectors(uint64_t begin, uint64_t end, Take take) {
    Absorb();
    CommitBefore(UINT64_MAX);
    for (uint64_t s = begin / kSectorBytes; s * kSectorBytes < end; ++s) {
      if (take()) FlushSector(s);
    }
  }
  // A failed sync: some sectors reach the device, and the others are clean in the cache only.
  void FailSync(uint64_t begin, uint64_t end, Random* random);
  // Drops the clean sectors of the range from the cache.
  void DropCache(uint64_t begin, uint64_t end);
  // The number of dirty bytes in the range.
  uint64_t DirtyBytes(uint64_t begin, uint64_t end);
  // Whether the cache holds a clean sector that is not on the device.
  bool HasLostSectors() const;
  // Background writeback of some dirty sectors.
  void WriteBackSome(uint64_t begin, uint64_t end, Random* random);
  // Commits the metadata changes below this position in the journal.
  void CommitBefore(uint64_t order);
  bool HasPendingChanges() const { return !changes_.empty(); }

  // Copies for the disk after a crash. If the disk has only one journal, `journal_end` is the
  // position up to which it has been written.
  std::shared_ptr<SimulatedInode> AfterPowerCut(Random* random, Survival survival,
                                                uint64_t journal_end,
                                                std::shared_ptr<uint64_t> order);
  std::shared_ptr<SimulatedInode> AfterKill(Random* random, std::shared_ptr<uint64_t> order);

  // Allocates blocks. Returns false if the pool is full: then the blocks before `*fits_until` are
  // allocated.
  bool AllocateBlocks(uint64_t begin, uint64_t end, BlockPool* pool, uint64_t* fits_until);
  bool IsAllocated(uint64_t begin, uint64_t end) const;
  uint64_t CountBlocks() const;
  void FreeBlocksFrom(uint64_t offset, BlockPool* pool);

 private:
  struct Change {
    enum class Kind : uint8_t { kResize, kZeroRange };
    Kind kind;
    uint64_t order;
    uint64_t begin;  // kResize: the new size
    uint64_t end;
    bool tail_lost;  // the zeros between the cut and the end of its block were never written
  };
  struct MappedRange {
    uint64_t begin;
    uint64_t end;
    uint32_t process;
  };
  // The state of a sector after a failed sync.
  enum class Loss : uint8_t {
    kNone,
    kClean,  // reaches the device with the next write and sync
    kStuck,  // reaches the device only after the cache was dropped
  };

  Memory CopyOf(const Memory& contents) const;
  // For a write to `*contents`, which is copied if it is shared. A mapped cache must not be: the
  // copies of an inode are gone when its processes continue.
  uint8_t* Own(Memory* contents);
  void Touch(uint64_t begin, uint64_t end);
  void Forget(uint64_t begin, uint64_t end);
  static void Apply(const Change& change, uint8_t* device, uint64_t* device_size);
  void ApplyToDevice(const Change& change) { Apply(change, Own(&device_), &device_size_); }
  void FlushSector(uint64_t sector);
  // The device with the pending size changes of the journal applied, as readers see it.
  std::vector<uint8_t> DeviceAsRead() const;
  void RevertStore(Random* random);

  const uint64_t capacity_;
  std::shared_ptr<uint64_t> order_;
  uint64_t size_ = 0;
  uint64_t device_size_ = 0;
  // These may be shared, with each other and with copies of the inode: writing needs Own().
  Memory cache_;
  Memory seen_;  // the cache as it was when Absorb() last looked
  Memory device_;
  // For each sector: 0, or 1 + the journal position that must be on the device before the sector.
  std::vector<uint64_t> dirty_;
  std::vector<Loss> lost_;  // by sector
  std::vector<Change> changes_;
  std::vector<MappedRange> mappings_;
  RangeLocks locks_;
  std::vector<bool> blocks_;
  std::vector<bool> populated_;  // by block
};

}  // namespace durlog::crash
