#include "recorded_disk.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "unix.h"

namespace powercut {
namespace {

// Reserved addresses, not memory. A run that needs more fails with "overflowed", never silently.
constexpr uint64_t kMaxOps = uint64_t{8} << 20;
constexpr uint64_t kMaxDataBytes = uint64_t{8} << 30;
constexpr uint64_t kMaxNoteBytes = uint64_t{256} << 20;

}  // namespace

Memory::Memory(uint64_t bytes, Sharing sharing) : data_(nullptr), size_(bytes) {
  const int share = sharing == Sharing::kPrivate ? MAP_PRIVATE : MAP_SHARED;
  void* const map =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, share | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) ThrowErrno("mmap of " + std::to_string(bytes) + " bytes");
  data_ = static_cast<uint8_t*>(map);
}

void Memory::Clear() {
  if (madvise(data_, size_, MADV_REMOVE) != 0) ThrowErrno("madvise");
}

Memory::~Memory() { munmap(data_, size_); }

void ApplyOp(uint8_t* image, const DiskOp& op, const uint8_t* log_data, uint64_t begin,
             uint64_t end) {
  begin = std::max(begin, op.offset);
  end = std::min(end, op.offset + op.length);
  if (begin >= end) return;
  if (op.kind == OpKind::kWrite) {
    std::memcpy(image + begin, log_data + op.data + (begin - op.offset), end - begin);
  } else if (op.kind == OpKind::kZero) {
    std::memset(image + begin, 0, end - begin);
  }
}

RecordedDisk::RecordedDisk(uint64_t image_bytes)
    : image_(image_bytes, Memory::Sharing::kSharedWithChildren),
      ops_(kMaxOps * sizeof(DiskOp), Memory::Sharing::kSharedWithChildren),
      data_(kMaxDataBytes, Memory::Sharing::kSharedWithChildren),
      notes_(kMaxNoteBytes, Memory::Sharing::kSharedWithChildren),
      counters_memory_(sizeof(Counters), Memory::Sharing::kSharedWithChildren),
      counters_(new(counters_memory_.data()) Counters{}) {}

bool RecordedDisk::InDisk(uint64_t offset, uint64_t length) const {
  return offset <= image_bytes() && length <= image_bytes() - offset;
}

bool RecordedDisk::Append(OpKind kind, uint64_t offset, uint64_t length, const void* bytes) {
  if (counters_->off.load(std::memory_order_acquire)) return true;
  const uint64_t index = counters_->ops.load(std::memory_order_relaxed);
  const uint64_t data_bytes = kind == OpKind::kWrite ? length : 0;
  if (index == kMaxOps || data_bytes > kMaxDataBytes - counters_->data_bytes) {
    counters_->overflowed.store(true, std::memory_order_release);
    return false;
  }
  const DiskOp op{kind, offset, length, counters_->data_bytes};
  if (data_bytes > 0) std::memcpy(data_.data() + op.data, bytes, data_bytes);
  counters_->data_bytes += data_bytes;
  std::memcpy(ops_.data() + index * sizeof(DiskOp), &op, sizeof(op));
  counters_->ops.store(index + 1, std::memory_order_release);
  if (kind != OpKind::kFlush) {
    ApplyOp(image_.data(), op, data_.data(), offset, offset + length);
  }
  return true;
}

bool RecordedDisk::Write(uint64_t offset, const void* bytes, uint64_t length) {
  return InDisk(offset, length) && Append(OpKind::kWrite, offset, length, bytes);
}

bool RecordedDisk::Zero(uint64_t offset, uint64_t length) {
  return InDisk(offset, length) && Append(OpKind::kZero, offset, length, nullptr);
}

bool RecordedDisk::Flush() { return Append(OpKind::kFlush, 0, 0, nullptr); }

bool RecordedDisk::AddNote(std::string_view text) {
  const std::string header = std::to_string(counters_->ops.load(std::memory_order_relaxed)) + " " +
                             std::to_string(text.size()) + "\n";
  const uint64_t used = counters_->note_bytes.load(std::memory_order_relaxed);
  if (header.size() + text.size() > kMaxNoteBytes - used) {
    counters_->overflowed.store(true, std::memory_order_release);
    return false;
  }
  std::memcpy(notes_.data() + used, header.data(), header.size());
  std::memcpy(notes_.data() + used + header.size(), text.data(), text.size());
  counters_->note_bytes.store(used + header.size() + text.size(), std::memory_order_release);
  return true;
}

std::string_view RecordedDisk::notes() const {
  return std::string_view(reinterpret_cast<const char*>(notes_.data()),
                          counters_->note_bytes.load(std::memory_order_acquire));
}

int RecordedDisk::Strike(OpKind kind) {
  const uint64_t left = counters_->until_fault.load(std::memory_order_acquire);
  if (left == 0 || counters_->fault.kind != kind) return 0;
  counters_->until_fault.store(left - 1, std::memory_order_release);
  if (left > 1) return 0;
  counters_->fired.fetch_add(1, std::memory_order_acq_rel);
  usleep(counters_->fault.delay_ms * 1000);
  return counters_->fault.error;
}

void RecordedDisk::Arm(const DiskFault& fault) {
  counters_->until_fault.store(0, std::memory_order_release);
  counters_->fault = fault;
  counters_->fired.store(0, std::memory_order_release);
  counters_->until_fault.store(fault.nth, std::memory_order_release);
}

void RecordedDisk::PowerOn() {
  uint64_t durable = op_count();
  while (durable > 0 && ops()[durable - 1].kind != OpKind::kFlush) --durable;
  image_.Clear();
  for (uint64_t i = 0; i < durable; ++i) {
    const DiskOp& op = ops()[i];
    ApplyOp(image(), op, log_data(), op.offset, op.offset + op.length);
  }
  counters_->ops.store(durable, std::memory_order_release);
  counters_->off.store(false, std::memory_order_release);
}

void RecordedDisk::Clear() {
  Arm({OpKind::kWrite, 0, 0, 0});
  counters_->off.store(false, std::memory_order_release);
  ClearLog();
  image_.Clear();
}

void RecordedDisk::ClearLog() {
  counters_->data_bytes = 0;
  counters_->note_bytes.store(0, std::memory_order_release);
  counters_->ops.store(0, std::memory_order_release);
}

}  // namespace powercut
