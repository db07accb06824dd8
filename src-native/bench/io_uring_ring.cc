#include "bench/io_uring_ring.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace durlog::bench {

IoUringRing::~IoUringRing() {
  if (rings_ != nullptr) munmap(rings_, rings_bytes_);
  if (entries_ != nullptr) munmap(entries_, entries_bytes_);
}

Status IoUringRing::Open(uint32_t entries) {
  io_uring_params params{};
  const long fd = syscall(SYS_io_uring_setup, entries, &params);
  if (fd < 0) return Status::System("io_uring_setup", errno, "");
  ring_.Reset(static_cast<int>(fd));
  if ((params.features & IORING_FEAT_SINGLE_MMAP) == 0) {
    return Status::Error(Code::kUnsupported, "this kernel's io_uring is older than 5.4");
  }
  return Map(params);
}

Status IoUringRing::Map(const io_uring_params& params) {
  const int protection = PROT_READ | PROT_WRITE;
  const int flags = MAP_SHARED | MAP_POPULATE;
  rings_bytes_ = std::max<uint64_t>(params.sq_off.array + params.sq_entries * sizeof(uint32_t),
                                    params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
  void* rings = mmap(nullptr, rings_bytes_, protection, flags, ring_.get(), IORING_OFF_SQ_RING);
  if (rings == MAP_FAILED) return Status::System("mmap", errno, "");
  rings_ = static_cast<uint8_t*>(rings);
  entries_bytes_ = params.sq_entries * sizeof(io_uring_sqe);
  void* entries = mmap(nullptr, entries_bytes_, protection, flags, ring_.get(), IORING_OFF_SQES);
  if (entries == MAP_FAILED) return Status::System("mmap", errno, "");
  entries_ = static_cast<io_uring_sqe*>(entries);

  submit_tail_ = reinterpret_cast<uint32_t*>(rings_ + params.sq_off.tail);
  submit_array_ = reinterpret_cast<uint32_t*>(rings_ + params.sq_off.array);
  submit_mask_ = *reinterpret_cast<uint32_t*>(rings_ + params.sq_off.ring_mask);
  complete_head_ = reinterpret_cast<uint32_t*>(rings_ + params.cq_off.head);
  complete_tail_ = reinterpret_cast<uint32_t*>(rings_ + params.cq_off.tail);
  complete_mask_ = *reinterpret_cast<uint32_t*>(rings_ + params.cq_off.ring_mask);
  completions_ = reinterpret_cast<io_uring_cqe*>(rings_ + params.cq_off.cqes);
  return Status::Ok();
}

io_uring_sqe* IoUringRing::Prepare() {
  const uint32_t tail = __atomic_load_n(submit_tail_, __ATOMIC_RELAXED);
  const uint32_t index = (tail + prepared_++) & submit_mask_;
  submit_array_[index] = index;
  io_uring_sqe* entry = &entries_[index];
  std::memset(entry, 0, sizeof *entry);
  return entry;
}

Status IoUringRing::Submit(uint32_t wait_for) {
  const uint32_t tail = __atomic_load_n(submit_tail_, __ATOMIC_RELAXED);
  // Release: the kernel sees the entries before it sees the tail that covers them.
  __atomic_store_n(submit_tail_, tail + prepared_, __ATOMIC_RELEASE);
  const uint32_t flags = wait_for != 0 ? IORING_ENTER_GETEVENTS : 0;
  const long taken =
      syscall(SYS_io_uring_enter, ring_.get(), prepared_, wait_for, flags, nullptr, 0);
  if (taken < 0 && errno != EINTR) return Status::System("io_uring_enter", errno, "");
  prepared_ = 0;
  return Status::Ok();
}

bool IoUringRing::Take(io_uring_cqe* completion) {
  const uint32_t head = __atomic_load_n(complete_head_, __ATOMIC_RELAXED);
  if (head == __atomic_load_n(complete_tail_, __ATOMIC_ACQUIRE)) return false;
  *completion = completions_[head & complete_mask_];
  __atomic_store_n(complete_head_, head + 1, __ATOMIC_RELEASE);
  return true;
}

}  // namespace durlog::bench
