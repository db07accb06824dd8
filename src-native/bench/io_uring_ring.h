// io_uring through its raw system calls: one ring, one thread, no library.
#pragma once

#include <linux/io_uring.h>

#include <cstdint>

#include "base/status.h"
#include "bench/scratch_file.h"

namespace durlog::bench {

// Used by one thread. Every Prepare is followed by one Submit before the next Wait.
class IoUringRing {
 public:
  IoUringRing() = default;
  IoUringRing(const IoUringRing&) = delete;
  IoUringRing& operator=(const IoUringRing&) = delete;
  ~IoUringRing();

  // kIo with ENOSYS or EPERM if the kernel or a sandbox refuses io_uring.
  Status Open(uint32_t entries);
  // A zeroed entry for the caller to fill in. Never more than `entries` between two Submits.
  io_uring_sqe* Prepare();
  // Submits the prepared entries and waits for at least `wait_for` completions.
  Status Submit(uint32_t wait_for);
  // Takes the next completion; false if there is none.
  bool Take(io_uring_cqe* completion);

 private:
  Status Map(const io_uring_params& params);

  ScopedFd ring_;
  uint8_t* rings_ = nullptr;
  uint64_t rings_bytes_ = 0;
  io_uring_sqe* entries_ = nullptr;
  uint64_t entries_bytes_ = 0;
  uint32_t* submit_tail_ = nullptr;
  uint32_t* submit_array_ = nullptr;
  uint32_t submit_mask_ = 0;
  uint32_t* complete_head_ = nullptr;
  uint32_t* complete_tail_ = nullptr;
  uint32_t complete_mask_ = 0;
  io_uring_cqe* completions_ = nullptr;
  uint32_t prepared_ = 0;
};

}  // namespace durlog::bench
