// A disk in memory that remembers, in order, everything that was done to it: each write, each
// flush, and the notes that programs placed between them. It lives in memory shared by the FUSE
// server (which alone writes to it while a file system is mounted) and the rig (which reads and
// resets it while nothing is mounted).
#ifndef DURLOG_TEST_POWERCUT_RECORDED_DISK_H_
#define DURLOG_TEST_POWERCUT_RECORDED_DISK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace powercut {

enum class OpKind : uint64_t {
  kWrite = 1,
  kZero = 2,   // a discard or write-zeroes of the range: as volatile as a write until a flush
  kFlush = 3,  // everything before it is on the medium
};

struct DiskOp {
  OpKind kind;
  uint64_t offset;
  uint64_t length;
  uint64_t data;  // where the bytes of a kWrite start in the log's data
};

// What the disk does once to the n-th operation of a kind from when it is armed.
struct DiskFault {
  OpKind kind;
  uint64_t nth;  // from 1 on; 0 for none
  int error;     // errno that it fails with; 0: it is late, and succeeds
  uint32_t delay_ms;
};

// Memory of its own, zero until written, that costs nothing where it is not touched.
class Memory {
 public:
  enum class Sharing { kPrivate, kSharedWithChildren };
  Memory(uint64_t bytes, Sharing sharing);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Zero again.
  void Clear();
  uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  uint8_t* data_;
  uint64_t size_;
};

// Makes `op` (not a flush) on `image`, as far as the bytes [begin, end) of the disk go.
void ApplyOp(uint8_t* image, const DiskOp& op, const uint8_t* log_data, uint64_t begin,
             uint64_t end);

class RecordedDisk {
 public:
  explicit RecordedDisk(uint64_t image_bytes);

  uint8_t* image() const { return image_.data(); }
  uint64_t image_bytes() const { return image_.size(); }

  // For the server. False: outside of the disk, or the log is full (see overflowed()).
  bool Write(uint64_t offset, const void* bytes, uint64_t length);
  bool Zero(uint64_t offset, uint64_t length);
  bool Flush();
  // `text` is one or more whole lines. Its position is the number of operations logged so far: as
  // the writer of a note waits for it, everything the note speaks of has been logged before it.
  bool AddNote(std::string_view text);
  // Before an operation: what it is to fail with, or 0.
  int Strike(OpKind kind);

  // For the rig.
  uint64_t op_count() const { return counters_->ops.load(std::memory_order_acquire); }
  const DiskOp* ops() const { return reinterpret_cast<const DiskOp*>(ops_.data()); }
  const uint8_t* log_data() const { return data_.data(); }
  uint64_t log_data_bytes() const { return counters_->data_bytes; }
  // Each note as "<position> <length>\n<text>".
  std::string_view notes() const;
  bool overflowed() const { return counters_->overflowed.load(std::memory_order_acquire); }
  // Forgets the log, not the image. Only while no file system is mounted from this disk.
  void ClearLog();
  // A new disk, all zeros.
  void Clear();
  void Arm(const DiskFault& fault);
  // How often the fault that was armed last has struck.
  uint64_t fired() const { return counters_->fired.load(std::memory_order_acquire); }
  // The power goes: from here on everything succeeds and nothing reaches the disk.
  void PowerOff() { counters_->off.store(true, std::memory_order_release); }
  // Makes the disk what its flushes had made durable when the power went, as far as the log goes
  // back. Only while no file system is mounted from it.
  void PowerOn();

 private:
  struct Counters {
    std::atomic<uint64_t> ops;
    std::atomic<uint64_t> note_bytes;
    std::atomic<bool> overflowed;
    std::atomic<bool> off;
    std::atomic<uint64_t> fired;
    std::atomic<uint64_t> until_fault;  // operations of its kind; 0 for no fault
    DiskFault fault;                    // set before until_fault
    uint64_t data_bytes;
  };

  bool InDisk(uint64_t offset, uint64_t length) const;
  bool Append(OpKind kind, uint64_t offset, uint64_t length, const void* bytes);

  Memory image_;
  Memory ops_;
  Memory data_;
  Memory notes_;
  Memory counters_memory_;
  Counters* counters_;
};

}  // namespace powercut

#endif  // DURLOG_TEST_POWERCUT_RECORDED_DISK_H_
