// A disk in memory that logs all operations in order: each write, each flush, and the notes that
// programs placed between them. The FUSE server and the rig share its memory: only the server
// writes to it while a file system is mounted, and the rig reads and resets it while none is
// mounted.
#pragma once

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
  uint64_t data;  // the offset of the bytes of a kWrite in the log's data
};

// A fault that strikes once, at the n-th operation of its kind after the fault was armed.
struct DiskFault {
  OpKind kind;
  uint64_t nth;  // from 1 on; 0 for none
  int error;     // errno of the failure; 0: the operation is delayed and succeeds
  uint32_t delay_ms;
};

// Private memory: zero until written; untouched pages cost nothing.
class Memory {
 public:
  enum class Sharing { kPrivate, kSharedWithChildren };
  Memory(uint64_t bytes, Sharing sharing);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Sets all bytes to zero.
  void Clear();
  uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  uint8_t* data_;
  uint64_t size_;
};

// Applies `op` (not a flush) to the bytes [begin, end) of `image`.
void ApplyOp(uint8_t* image, const DiskOp& op, const uint8_t* log_data, uint64_t begin,
             uint64_t end);

class RecordedDisk {
 public:
  explicit RecordedDisk(uint64_t image_bytes);

  uint8_t* image() const { return image_.data(); }
  uint64_t image_bytes() const { return image_.size(); }

  // For the server. Return false if the range is outside of the disk or the log is full (see
  // overflowed()).
  bool Write(uint64_t offset, const void* bytes, uint64_t length);
  bool Zero(uint64_t offset, uint64_t length);
  bool Flush();
  // `text` is one or more whole lines. Its position is the number of operations logged so far. The
  // writer of a note waits for the call, so the note follows all operations that it refers to.
  bool AddNote(std::string_view text);
  // Called before an operation. Returns the errno with which it must fail, or 0.
  int Strike(OpKind kind);

  // For the rig.
  uint64_t op_count() const { return counters_->ops.load(std::memory_order_acquire); }
  const DiskOp* ops() const { return reinterpret_cast<const DiskOp*>(ops_.data()); }
  const uint8_t* log_data() const { return data_.data(); }
  uint64_t log_data_bytes() const { return counters_->data_bytes; }
  // All notes, each as "<position> <length>\n<text>".
  std::string_view notes() const;
  bool overflowed() const { return counters_->overflowed.load(std::memory_order_acquire); }
  // Clears the log, not the image. Call only while no file system is mounted from this disk.
  void ClearLog();
  // Makes the disk new: all zeros.
  void Clear();
  void Arm(const DiskFault& fault);
  // How often the last armed fault has struck.
  uint64_t fired() const { return counters_->fired.load(std::memory_order_acquire); }
  // Cuts the power: from now on every operation succeeds without an effect on the disk.
  void PowerOff() { counters_->off.store(true, std::memory_order_release); }
  // Restores the contents that flushes had made durable before PowerOff(), as far back as the log
  // reaches. Call only while no file system is mounted from this disk.
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
