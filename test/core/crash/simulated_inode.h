// One file of the simulated disk: what the page cache holds of it, and what the device does.
//
// The model. The device takes 512-byte sectors, each whole or not at all. A write goes to the
// cache and makes its sectors dirty; a dirty sector may reach the device at any time and in any
// order, and has reached it once a sync that covers it has returned. Changes of the size and of
// the block map are a journal: they reach the device in the order in which they were made, and a
// sector that was written behind such a change never reaches the device before the change does.
// So a file that was cut and has grown again reads as zeros there, or as what was written since;
// that is what ext4, XFS and Btrfs guarantee. The zeroed rest of the block in which a cut falls
// goes with the cut or before it (ext4 in ordered mode, XFS), unless a sync in between has failed
// and dropped that page, which leaves the old bytes behind the cut.
//
// A failed sync leaves sectors clean in the cache that are not on the device. Some of them are
// stuck, as ext4 leaves the pages of an extent that is still marked unwritten: writing them again
// through the cache changes the cache only. Dropping the cache shows what the device holds, and
// ends that; so does a direct write.
#ifndef DURLOG_TEST_CORE_CRASH_SIMULATED_INODE_H_
#define DURLOG_TEST_CORE_CRASH_SIMULATED_INODE_H_

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

// The blocks of the device, counted only.
struct BlockPool {
  uint64_t limit = UINT64_MAX;
  uint64_t used = 0;

  uint64_t free() const { return used < limit ? limit - used : 0; }
};

// How much of what was not synced a power cut leaves behind.
enum class Survival : uint8_t { kNothing, kSome, kMost, kEverything };

class SimulatedInode {
 public:
  // `order` counts the metadata changes of the whole disk.
  SimulatedInode(uint64_t capacity_bytes, std::shared_ptr<uint64_t> order);
  SimulatedInode(const SimulatedInode&) = delete;
  SimulatedInode& operator=(const SimulatedInode&) = delete;

  uint64_t size() const { return size_; }
  uint64_t capacity() const { return capacity_; }
  uint8_t* cache() { return cache_.get(); }
  // Of the processes that are there: a crash leaves none.
  RangeLocks& locks() { return locks_; }

  // The page cache. Room on the device is the caller's business.
  size_t Read(uint64_t offset, void* to, size_t length) const;
  // As O_DIRECT: what the device holds, once what is dirty of the range has been written.
  size_t ReadDevice(uint64_t offset, void* to, size_t length);
  void Write(uint64_t offset, const void* from, size_t length);
  void Resize(uint64_t size);
  // A cut that a broken disk forgets: the cache shows it, the device never hears of it.
  void CutCache(uint64_t size);
  void ZeroRange(uint64_t offset, uint64_t length);

  // Mapped ranges may be stored to behind our back; Absorb() finds out what has changed.
  void AddMapping(uint64_t offset, uint64_t length, uint32_t process);
  void RemoveMapping(uint64_t offset, uint64_t length, uint32_t process);
  // A process dies, with its maps and its locks.
  void ForgetProcess(uint32_t process);
  bool IsMapped(uint64_t begin, uint64_t end) const;
  // Pages that a worker has made writable are dirty until the next sync, stored to or not.
  void Populate(uint64_t begin, uint64_t end);
  bool IsPopulated(uint64_t begin, uint64_t end) const;
  void Absorb();

  // To the device.
  void SyncRange(uint64_t begin, uint64_t end);
  void SyncAll() { SyncRange(0, capacity_); }
  // As O_DIRECT|O_DSYNC: of the sectors of the range only those that `take` says.
  template <typename Take>
  void SyncSectors(uint64_t begin, uint64_t end, Take take) {
    Absorb();
    CommitBefore(UINT64_MAX);
    for (uint64_t s = begin / kSectorBytes; s * kSectorBytes < end; ++s) {
      if (take()) FlushSector(s);
    }
  }
  // The sync failed: some sectors made it, the others are clean in the cache, lost to the device.
  void FailSync(uint64_t begin, uint64_t end, Random* random);
  // Forgets what the cache holds of the range and is not dirty.
  void DropCache(uint64_t begin, uint64_t end);
  // What is still to be written of the range.
  uint64_t DirtyBytes(uint64_t begin, uint64_t end);
  // Whether the cache shows anything that is clean and not on the device.
  bool HasLostSectors() const;
  // The flusher comes by.
  void WriteBackSome(uint64_t begin, uint64_t end, Random* random);
  // Metadata changes below this place in the journal.
  void CommitBefore(uint64_t order);
  bool HasPendingChanges() const { return !changes_.empty(); }

  // Copies, for the disk after a crash. `journal_end` is the place up to which the disk's journal
  // has been written, where it has only one.
  std::shared_ptr<SimulatedInode> AfterPowerCut(Random* random, Survival survival,
                                                uint64_t journal_end,
                                                std::shared_ptr<uint64_t> order);
  std::shared_ptr<SimulatedInode> AfterKill(Random* random, std::shared_ptr<uint64_t> order);

  // Blocks. False where the pool has no room; then those in front are allocated, and `*fits_until`
  // says where they end.
  bool AllocateBlocks(uint64_t begin, uint64_t end, BlockPool* pool, uint64_t* fits_until);
  bool IsAllocated(uint64_t begin, uint64_t end) const;
  uint64_t CountBlocks() const;
  void FreeBlocksFrom(uint64_t offset, BlockPool* pool);

 private:
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<uint8_t, Free>;
  struct Change {
    enum class Kind : uint8_t { kResize, kZeroRange };
    Kind kind;
    uint64_t order;
    uint64_t begin;  // kResize: the new size
    uint64_t end;
    bool tail_lost;  // the zeros behind the cut, in its own block, never made it
  };
  struct MappedRange {
    uint64_t begin;
    uint64_t end;
    uint32_t process;
  };
  // What a failed sync has made of a sector.
  enum class Loss : uint8_t {
    kNone,
    kClean,  // on the device after the next write and sync
    kStuck,  // not before the cache was dropped
  };

  static Memory Allocate(uint64_t bytes);
  void Touch(uint64_t begin, uint64_t end);
  void Forget(uint64_t begin, uint64_t end);
  static void Apply(const Change& change, uint8_t* device, uint64_t* device_size);
  void ApplyToDevice(const Change& change) { Apply(change, device_.get(), &device_size_); }
  void FlushSector(uint64_t sector);
  // The device with the changes of size that the journal still holds back: readers see these.
  std::vector<uint8_t> DeviceAsRead() const;
  void RevertStore(Random* random);

  const uint64_t capacity_;
  std::shared_ptr<uint64_t> order_;
  uint64_t size_ = 0;
  uint64_t device_size_ = 0;
  Memory cache_;
  Memory seen_;  // the cache as it was when Absorb() last looked
  Memory device_;
  // For each sector 0, or the place in the journal that must be on the device before it, plus one.
  std::vector<uint64_t> dirty_;
  std::vector<Loss> lost_;  // by sector
  std::vector<Change> changes_;
  std::vector<MappedRange> mappings_;
  RangeLocks locks_;
  std::vector<bool> blocks_;
  std::vector<bool> populated_;  // by block
};

}  // namespace durlog::crash

#endif  // DURLOG_TEST_CORE_CRASH_SIMULATED_INODE_H_
