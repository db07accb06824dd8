// What durlog needs of an operating system, and nothing else. No system header is included here:
// the layers above compile the same everywhere, and a test puts a simulated disk underneath them.
//
// Every object is used by one thread at a time unless a method says otherwise; File::ReadAt,
// WriteAt and the syncs may run concurrently on different ranges.
#ifndef DURLOG_PLATFORM_FILE_SYSTEM_H_
#define DURLOG_PLATFORM_FILE_SYSTEM_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace durlog {

// How the blocks of a segment come to be before records are written to them.
enum class Preallocation : uint8_t {
  kNone,       // the file grows as it is written
  kSparse,     // the size is set, no block is allocated
  kFallocate,  // blocks allocated, marked unwritten; the size is set
  kKeepSize,   // blocks allocated beyond the end of the file; the size grows as it is written
  kZeroRange,  // FALLOC_FL_ZERO_RANGE: as kFallocate, and whatever was there reads as zeros
  kZero,       // zeros are written, so that a later write converts no extent
  kRecycle,    // a trimmed segment is used again as it is; kZero where there is none
};

// A stretch of a file in memory, shared with the page cache.
class Mapping {
 public:
  // `fault_flag` outlives the map; null where a fault ends the process.
  explicit Mapping(const std::atomic<bool>* fault_flag = nullptr) : fault_flag_(fault_flag) {}
  virtual ~Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  virtual uint8_t* data() = 0;
  virtual size_t size() const = 0;
  // Whether a fault in a page that is not in the cache brings in more than it, as is the default.
  // What readahead adds comes in folios of up to 2 MiB. Where all of a folio is mapped by one fault
  // they are cheap; a fault in one that is mapped page by page costs time for all of its blocks,
  // and a sync of one record writes all of it back, while a store to any of it waits.
  virtual void SetReadahead(bool) {}
  // Gives the pages of [offset, offset + length) back to the cache, but for the one that it ends
  // in, where they will hardly be used again: a sync of the file has to take write access from each
  // page that is mapped, on every processor. What is used again faults.
  virtual void DropPages(size_t, size_t) {}
  // Brings the pages of [offset, offset + length) into the cache one by one, whatever readahead
  // does, and maps none: a store still faults, in a quarter of the time.
  virtual void Prefetch(size_t, size_t) {}
  // Makes the pages of [offset, offset + length) present and writable, so that a store neither
  // blocks on a fault nor meets a full disk. An impossible page is an error here, not a SIGBUS.
  // Safe beside stores by another thread.
  virtual Status Populate(size_t offset, size_t length) = 0;
  // Writes the range back and waits for the device (msync MS_SYNC). Safe beside stores.
  virtual Status Sync(size_t offset, size_t length) = 0;
  // True once a store has met a page that the kernel could not give (truncated file, I/O error,
  // full disk). The store went nowhere; the mapping is of no further use. Asked several times for
  // each append.
  bool faulted() const {
    if (fault_flag_ == nullptr) return false;
    // The handler of the fault runs within the store: the compiler must not move that behind.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return fault_flag_->load(std::memory_order_acquire);
  }
  const std::atomic<bool>* fault_flag() const { return fault_flag_; }
  // Waits until WakeOn() is called for the same word of the file, by this process or another, but
  // at most `micros` and not at all where the word is not `value`. `offset` is a multiple of 4.
  // False where the system has no such call: nothing has been waited for. From any thread.
  virtual bool WaitOn(size_t, uint32_t, uint64_t) { return false; }
  // Ends every wait on the word. From any thread.
  virtual void WakeOn(size_t) {}

 private:
  const std::atomic<bool>* const fault_flag_;
};

// A stretch of a file in memory for reading: what another process stores into a Mapping of the same
// stretch is seen at once.
class ReadOnlyMapping {
 public:
  virtual ~ReadOnlyMapping() = default;
  virtual const uint8_t* data() const = 0;
  // True once a load has met a page that the kernel could not give; such a load finds zeros.
  virtual bool faulted() const = 0;
};

// Tells a file from every other one that exists at the same time.
struct FileId {
  uint64_t volume = 0;
  uint64_t index = 0;
  bool operator==(const FileId& other) const {
    return volume == other.volume && index == other.index;
  }
};

enum class LockKind : uint8_t { kShared, kExclusive };

// Holds a lock on a file; destroying it lets go. The system lets go when the process dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
  // The file that is locked, which may have lost its name since.
  virtual Result<FileId> Id() {
    return Status::Error(Code::kUnsupported, "files here cannot be told apart");
  }
};

// What the page cache holds of a range of a file.
struct CacheUse {
  uint64_t cached_bytes = 0;
  uint64_t dirty_bytes = 0;  // of these, what has not been given to the device yet
};

class File {
 public:
  virtual ~File() = default;
  // Reads up to `length` bytes; less only at the end of the file.
  virtual Result<size_t> ReadAt(uint64_t offset, void* to, size_t length) = 0;
  // As ReadAt, but no more than the page cache holds already: it does not wait for the device.
  // Nothing where the system has no such call.
  virtual std::optional<size_t> ReadCachedAt(uint64_t, void*, size_t) { return std::nullopt; }
  // All of it or an error. On a file opened kDirect or kDirectUnsynced, offset, length and
  // address must be multiples of Capabilities::direct_alignment; with kDirect, the data is on the
  // device when this returns.
  virtual Status WriteAt(uint64_t offset, const void* from, size_t length) = 0;
  // Starts writeback of the range without waiting for it; a hint where the system has no such call.
  virtual Status StartWriteback(uint64_t offset, uint64_t length) = 0;
  // fdatasync: data and the metadata needed to read it back are on the device.
  virtual Status SyncData() = 0;
  // The strongest the platform has: fsync; F_FULLFSYNC on macOS.
  virtual Status SyncFull() = 0;
  // Forgets what the page cache holds of the file and is not dirty, so that reading shows the
  // device. After a sync that failed the two differ. Does nothing where the system has no such
  // call.
  virtual Status DropCache() = 0;
  // Nothing where the system does not tell.
  virtual std::optional<CacheUse> CacheUseOf(uint64_t, uint64_t) { return std::nullopt; }
  // Where data begins, at `offset` or behind it; all in front of that reads as zeros. UINT64_MAX
  // where there is none, `offset` where the file system cannot tell.
  virtual Result<uint64_t> NextData(uint64_t offset) = 0;
  virtual Result<uint64_t> Size() = 0;
  virtual Status Truncate(uint64_t size) = 0;
  // Allocates [offset, offset + length). kZero and kRecycle are not the platform's: the caller
  // writes zeros itself. kUnsupported where the file system has no such call.
  virtual Status Allocate(Preallocation how, uint64_t offset, uint64_t length) = 0;
  // Maps a range for reading and writing; `offset` is a multiple of Capabilities::map_alignment.
  virtual Result<std::unique_ptr<Mapping>> Map(uint64_t offset, size_t length) = 0;
  // The next four are called only where Capabilities::shares_maps is true.
  //
  // Maps a range for reading; `offset` is a multiple of Capabilities::map_alignment.
  virtual Result<std::unique_ptr<ReadOnlyMapping>> MapForReading(uint64_t, size_t) {
    return Missing();
  }
  // The exclusive lock on this file, open for writing; null where another open of it has the lock,
  // or, where asking means trying, is just asking.
  virtual Result<std::unique_ptr<FileLock>> TryLock() { return Missing(); }
  // Whether another open of this file, in this process or another, has the lock.
  virtual Result<bool> IsLocked() { return Missing(); }
  // The next three are of several writers, and kUnsupported on most systems. Bytes that are locked
  // need not exist; a length of 0 reaches as far as any file can. A lock belongs to this open of
  // the file: it keeps every other one out, also of this process, and the system lets go of it when
  // this one is closed, by the death of its process too.
  //
  // Takes the lock in place of what this open has there, and never waits. False where another open
  // has one that does not allow it; what this one had stays. kExclusive needs a file open for
  // writing.
  virtual Result<bool> TryLockRange(LockKind, uint64_t, uint64_t) { return Missing(); }
  virtual Status UnlockRange(uint64_t, uint64_t) { return Missing(); }
  // What another open has locked there; the kind of one of them where there are several.
  virtual Result<std::optional<LockKind>> RangeLockOfOthers(uint64_t, uint64_t) {
    return Missing();
  }
  virtual Result<FileId> Id() { return Missing(); }
  // Asks for extents of at least this size (XFS); kUnsupported elsewhere.
  virtual Status SetExtentSizeHint(uint32_t bytes) = 0;
  // What errors name from here on: the file has been renamed.
  virtual void SetPath(const std::string&) {}
  // Closes and returns its status; the destructor closes too, best effort.
  virtual Status Close() = 0;

 private:
  static Status Missing() {
    return Status::Error(Code::kUnsupported, "files here are not shared with other processes");
  }
};

enum class OpenMode : uint8_t {
  kRead,
  kReadWrite,
  kCreateNew,       // read and write; fails where the name exists
  kDirect,          // write past the page cache, each write durable on return (O_DIRECT|O_DSYNC)
  kDirectUnsynced,  // the same, durable after the next sync (O_DIRECT)
};

inline bool IsDirect(OpenMode mode) {
  return mode == OpenMode::kDirect || mode == OpenMode::kDirectUnsynced;
}

struct FileEntry {
  std::string name;
  bool is_regular = false;
};

// What the file system below a folder can do, found by asking it once.
struct Capabilities {
  std::string file_system;  // "ext4", "xfs", "btrfs", "tmpfs", ... or "unknown"
  bool direct_io = false;   // a file can be opened kDirect
  uint32_t direct_alignment = 4096;
  bool overwrites_in_place = false;  // a write to allocated blocks needs no new ones
  // A store to a mapped page that the kernel cannot give sets Mapping::faulted(), and does not end
  // the process.
  bool survives_map_faults = true;
  uint32_t map_alignment = 4096;
  // What is stored into a map is seen at once by every process that can open the file, and so are
  // its locks: not over a network.
  bool shares_maps = false;
};

// An open folder. Names are single components; a symbolic link is never followed.
class Directory {
 public:
  virtual ~Directory() = default;
  virtual const std::string& path() const = 0;
  virtual Result<std::unique_ptr<File>> Open(const std::string& name, OpenMode mode) = 0;
  virtual Result<std::vector<FileEntry>> List() = 0;
  // Replaces `to` where it exists.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  virtual Status Remove(const std::string& name) = 0;
  // Makes the folder's entries durable.
  virtual Status Sync() = 0;
  // Takes the exclusive lock on `name`, creating it, and writes our pid into it.
  // kLocked with the owner's pid where somebody else has it.
  virtual Result<std::unique_ptr<FileLock>> Lock(const std::string& name) = 0;
  virtual Result<Capabilities> Probe() = 0;
};

using BootId = std::array<uint8_t, 16>;

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // With `create`, makes the folder (0700) and its missing parents, and syncs each new entry.
  virtual Result<std::unique_ptr<Directory>> OpenDirectory(const std::string& path,
                                                           bool create) = 0;
  // Milliseconds since the Unix epoch.
  virtual uint64_t NowMs() = 0;
  // Microseconds since some moment, never set back. From any thread.
  virtual uint64_t MonotonicMicros() = 0;
  // Unpredictable enough that no two segments ever share a salt.
  virtual uint64_t Random64() = 0;
  // 0 where it is not known.
  virtual int64_t ProcessId() { return 0; }
  // The same for as long as the page cache has lived, and different after each boot; zeros where
  // the system does not tell.
  virtual BootId CurrentBoot() { return BootId{}; }
};

// The real one; never destroyed.
FileSystem& DefaultFileSystem();

}  // namespace durlog

#endif  // DURLOG_PLATFORM_FILE_SYSTEM_H_
