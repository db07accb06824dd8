// The interface between durlog and the operating system. It includes no system header, so the
// layers above are the same on every platform, and tests can replace the disk with a simulated one.
//
// Every object is used by one thread at a time unless a method says otherwise; File::ReadAt,
// WriteAt and the syncs may run concurrently on different ranges.
#pragma once

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

// A range of a file mapped into memory, shared with the page cache. A map that is made for reading
// must not be stored to, populated or synced.
class Mapping {
 public:
  // `fault_flag` outlives the map. It is null if a fault ends the process.
  explicit Mapping(const std::atomic<bool>* fault_flag = nullptr) : fault_flag_(fault_flag) {}
  virtual ~Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  virtual uint8_t* data() = 0;
  virtual size_t size() const = 0;
  // Sets whether a fault in a page that is not in the cache also reads the pages around it; it does
  // by default. Readahead brings in folios of up to 2 MiB. They are cheap if one fault maps the
  // whole folio. If pages are mapped one by one, each fault costs time for every block of the
  // folio, and a sync of one record writes back all of it while stores to it wait.
  virtual void SetReadahead(bool) {}
  // Unmaps the pages of [offset, offset + length), except the one that contains the end. Meant for
  // pages that are hardly used again: a sync of the file takes write access from every mapped page,
  // on every processor. The next access to an unmapped page faults.
  virtual void DropPages(size_t, size_t) {}
  // Brings the pages of [offset, offset + length) into the cache one by one, without readahead, and
  // maps none. A store still faults, but takes a quarter of the time.
  virtual void Prefetch(size_t, size_t) {}
  // Makes the pages of [offset, offset + length) present and writable, so that a store neither
  // blocks on a fault nor fails on a full disk. A page that cannot be allocated is an error here
  // instead of a SIGBUS. Safe while another thread stores to the range.
  virtual Status Populate(size_t offset, size_t length) = 0;
  // Writes the range back and waits for the device (msync MS_SYNC). Safe while another thread
  // stores to the range.
  virtual Status Sync(size_t offset, size_t length) = 0;
  // True after a store or load hit a page that the kernel could not provide (truncated file, I/O
  // error, full disk). The store had no effect, the load returned zeros, and the mapping must not
  // be used any more. Called several times for each append.
  bool faulted() const {
    if (fault_flag_ == nullptr) return false;
    // The fault handler runs during the store: the compiler must not move the store after the load.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return fault_flag_->load(std::memory_order_acquire);
  }
  const std::atomic<bool>* fault_flag() const { return fault_flag_; }
  // Waits until this process or another calls WakeOn() for the same word of the file, for at most
  // `micros`. Returns at once if the word is not `value`. `offset` is a multiple of 4. Returns
  // false, without waiting, if the system has no such call. From any thread.
  virtual bool WaitOn(size_t, uint32_t, uint64_t) { return false; }
  // Ends every wait on the word. From any thread.
  virtual void WakeOn(size_t) {}

 private:
  const std::atomic<bool>* const fault_flag_;
};

// Identifies a file among all files that exist at the same time.
struct FileId {
  uint64_t volume = 0;
  uint64_t index = 0;
  bool operator==(const FileId& other) const {
    return volume == other.volume && index == other.index;
  }
};

enum class LockKind : uint8_t { kShared, kExclusive };

// Holds a lock on a file; the destructor releases it. The system releases it when the process dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
  // The locked file, which may have been renamed or removed since.
  virtual Result<FileId> Id() {
    return Status::Error(Code::kUnsupported, "this file system has no file identity");
  }
};

// The part of a file's range that is in the page cache.
struct CacheUse {
  uint64_t cached_bytes = 0;
  uint64_t dirty_bytes = 0;  // the part of cached_bytes that has not been written back
};

class File {
 public:
  virtual ~File() = default;
  // Reads up to `length` bytes; fewer only at the end of the file.
  virtual Result<size_t> ReadAt(uint64_t offset, void* to, size_t length) = 0;
  // As ReadAt, but returns only bytes that are in the page cache, so it never waits for the device.
  // nullopt if the system has no such call.
  virtual std::optional<size_t> ReadCachedAt(uint64_t, void*, size_t) { return std::nullopt; }
  // Writes all bytes or returns an error. If the file was opened kDirect or kDirectUnsynced,
  // offset, length and address must be multiples of Capabilities::direct_alignment. With kDirect
  // the data is on the device when this returns.
  virtual Status WriteAt(uint64_t offset, const void* from, size_t length) = 0;
  // Starts writeback of the range without waiting for it; only a hint if the system has no such
  // call.
  virtual Status StartWriteback(uint64_t offset, uint64_t length) = 0;
  // fdatasync: data and the metadata needed to read it back are on the device.
  virtual Status SyncData() = 0;
  // The platform's strongest sync: fsync; F_FULLFSYNC on macOS.
  virtual Status SyncFull() = 0;
  // Drops the file's clean pages from the page cache, so that reads show the device. The two differ
  // after a failed sync. Does nothing if the system has no such call.
  virtual Status DropCache() = 0;
  // nullopt if the system does not report it.
  virtual std::optional<CacheUse> CacheUseOf(uint64_t, uint64_t) { return std::nullopt; }
  // The first offset >= `offset` that holds data; every byte between the two reads as zero.
  // UINT64_MAX if there is no more data, `offset` if the file system does not report holes.
  virtual Result<uint64_t> NextData(uint64_t offset) = 0;
  // The first offset >= `offset` that holds no data and reads as zero. UINT64_MAX if there is none,
  // or if the file system does not report holes.
  virtual Result<uint64_t> NextHole(uint64_t) { return UINT64_MAX; }
  virtual Result<uint64_t> Size() = 0;
  virtual Status Truncate(uint64_t size) = 0;
  // Allocates the blocks of [offset, offset + length), marked unwritten, and extends the file to
  // their end. kUnsupported if the file system has no such call.
  virtual Status Allocate(uint64_t offset, uint64_t length) = 0;
  // As Allocate(); written blocks of the range become unwritten ones, which read as zeros.
  virtual Status ZeroRange(uint64_t offset, uint64_t length) = 0;
  // Maps a range for reading and writing; `offset` is a multiple of Capabilities::map_alignment.
  virtual Result<std::unique_ptr<Mapping>> Map(uint64_t offset, size_t length) = 0;
  // The next two are called only if Capabilities::shares_maps is true.
  //
  // As Map(), for reading. Stores by another process into a map of the same range are visible at
  // once.
  virtual Result<std::unique_ptr<Mapping>> MapForReading(uint64_t, size_t) { return Missing(); }
  // Takes the exclusive lock on this file, which is open for writing. Null if another open of the
  // file holds the lock, or is testing it on a system that can only test a lock by taking it.
  virtual Result<std::unique_ptr<FileLock>> TryLock() { return Missing(); }
  // Whether another open of this file, in this process or another, holds the lock. If
  // Capabilities::shares_maps is false, the locks of other machines may be missed.
  virtual Result<bool> IsLocked() { return Missing(); }
  // The next three serve shared logs and are kUnsupported on most systems. Locked bytes need not
  // exist; a length of 0 extends to the largest possible offset. A lock belongs to this open of the
  // file: it excludes every other open, including those of this process, and the system releases it
  // when this one is closed or its process dies.
  //
  // Replaces the lock that this open holds on the range, and never waits. False if a lock of
  // another open conflicts; this open's previous lock is then kept. kExclusive needs a file that is
  // open for writing.
  virtual Result<bool> TryLockRange(LockKind, uint64_t, uint64_t) { return Missing(); }
  virtual Status UnlockRange(uint64_t, uint64_t) { return Missing(); }
  // The kind of a lock that another open holds in the range; any one of them if there are several.
  virtual Result<std::optional<LockKind>> RangeLockOfOthers(uint64_t, uint64_t) {
    return Missing();
  }
  virtual Result<FileId> Id() { return Missing(); }
  // Whether the file has another name too, a hard link. False if the system does not report it.
  virtual bool HasOtherNames() { return false; }
  // When the bytes or the length of the file were last changed, in nanoseconds of any clock.
  virtual Result<uint64_t> ModifiedNanos() { return Missing(); }
  // Sets the path that later errors report, after the file was renamed.
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
  kCreateNew,       // read and write; fails if the name exists
  kCreatePrivate,   // the same, for the owner of the folder alone: see CreatesFile()
  kDirect,          // write past the page cache, each write durable on return (O_DIRECT|O_DSYNC)
  kDirectUnsynced,  // the same, durable after the next sync (O_DIRECT)
};

inline bool IsDirect(OpenMode mode) {
  return mode == OpenMode::kDirect || mode == OpenMode::kDirectUnsynced;
}

// A file that is created with kCreateNew gets the access rights of the log's other files. Reading
// these rights takes time that grows with the number of files in the folder.
inline bool CreatesFile(OpenMode mode) {
  return mode == OpenMode::kCreateNew || mode == OpenMode::kCreatePrivate;
}

struct FileEntry {
  std::string name;
  bool is_regular = false;
};

// Properties of the file system that holds a folder, probed once.
struct Capabilities {
  std::string file_system;  // "ext4", "xfs", "btrfs", "tmpfs", ... or "unknown"
  bool direct_io = false;   // a file can be opened kDirect
  uint32_t direct_alignment = 4096;
  bool overwrites_in_place = false;  // a write to allocated blocks needs no new ones
  // A store to a mapped page that the kernel cannot provide sets Mapping::faulted() and does not
  // end the process.
  bool survives_map_faults = true;
  uint32_t map_alignment = 4096;
  // Every process that can open the file sees stores into a map, and locks, at once. False on
  // network file systems.
  bool shares_maps = false;
  // A file that is closed and opened again has the same FileId.
  bool keeps_file_ids = false;
};

// An open folder. Names are single components; a symbolic link is never followed.
class Directory {
 public:
  virtual ~Directory() = default;
  virtual const std::string& path() const = 0;
  virtual std::string PathOf(const std::string& name) const { return path() + "/" + name; }
  virtual Result<std::unique_ptr<File>> Open(const std::string& name, OpenMode mode) = 0;
  // Opens `name` for reading if the kernel has the file in memory, so it never waits for the
  // device. Null if it has not, if the file cannot be opened, or if the system has no such call.
  virtual std::unique_ptr<File> OpenCached(const std::string&) { return nullptr; }
  // Opens `name` for reading and writing. Creates the file if it does not exist.
  Result<std::unique_ptr<File>> OpenOrCreate(const std::string& name) {
    for (int attempt = 1;; ++attempt) {
      Result<std::unique_ptr<File>> file = Open(name, OpenMode::kReadWrite);
      if (file.status().code() != Code::kNotFound) return file;
      file = Open(name, OpenMode::kCreateNew);
      // Another process may have created the file in the meantime.
      if (file.ok() || attempt == kCreateAttempts) return file;
    }
  }
  virtual Result<std::vector<FileEntry>> List() = 0;
  // Replaces `to` if it exists.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  virtual Status Remove(const std::string& name) = 0;
  // Makes the folder's entries durable. After a failure every call fails: see LastingSync.
  virtual Status Sync() = 0;
  // Syncs everything that was written to the file system since this folder was opened. Reports each
  // failed writeback since then, even if another process has received a report of it. Returns
  // kUnsupported, before anything is synced, if the system or the file system cannot do that.
  virtual Status SyncFileSystem() {
    return Status::Error(Code::kUnsupported,
                         "no sync of a whole file system reports failed writes");
  }
  // Takes the exclusive lock on the file `name`, which is created if necessary, and writes our pid
  // into it.
  // kLocked, with the owner's pid, if another open holds it.
  virtual Result<std::unique_ptr<FileLock>> Lock(const std::string& name) = 0;
  virtual Result<Capabilities> Probe() = 0;
  // The folder that is open, which may have been renamed or removed since.
  virtual Result<FileId> Id() {
    return Status::Error(Code::kUnsupported, "folders have no identity here");
  }
  // Of the file that has this name. Needs no descriptor on POSIX systems. kNotFound if there is
  // none.
  virtual Result<FileId> IdOf(const std::string&) {
    return Status::Error(Code::kUnsupported, "names have no identity here");
  }
  // Keeps descriptors for files of this folder that are opened when the process has no free one. A
  // file that is closed later makes up for them. Called before other threads use the folder.
  virtual void KeepDescriptors() {}

 private:
  static constexpr int kCreateAttempts = 100;
};

using BootId = std::array<uint8_t, 16>;

// The message of OpenDirectory without `create`, with kNotFound.
inline constexpr char kNoFolder[] = "there is no log here yet: the folder does not exist";
// The message if the folder holds no segment, with kNotFound.
inline constexpr char kNoSegment[] = "there is no log in this folder yet";

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // With `create`, makes the folder (0700) and its missing parents, and syncs each new entry.
  virtual Result<std::unique_ptr<Directory>> OpenDirectory(const std::string& path,
                                                           bool create) = 0;
  // Milliseconds since the Unix epoch.
  virtual uint64_t NowMs() = 0;
  // Microseconds since an arbitrary moment; never goes back. From any thread.
  virtual uint64_t MonotonicMicros() = 0;
  // Random enough that no two segments ever have the same salt.
  virtual uint64_t Random64() = 0;
  // 0 if unknown.
  virtual int64_t ProcessId() { return 0; }
  // The namespace of that id. Processes in another namespace cannot use the id. 0 if it is not
  // known.
  virtual uint32_t PidNamespace() { return 0; }
  // Changes with each boot, that is, whenever the page cache is lost. Zeros if the system does not
  // report it.
  virtual BootId CurrentBoot() { return BootId{}; }
};

// The file system of the operating system; never destroyed.
FileSystem& DefaultFileSystem();

}  // namespace durlog
