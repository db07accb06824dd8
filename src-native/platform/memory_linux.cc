#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "platform/posix_fd.h"
#include "platform/posix_memory.h"

namespace durlog {
namespace {

// A constant of Linux 5.14, defined here because older headers lack it.
constexpr int kMadvPopulateWrite = 23;

}  // namespace

static_assert(sizeof(void*) == 8, "a 32-bit system needs SYS_mmap2 here");

bool MapDeadPage(void* page, size_t page_bytes) {
  // Makes the system call directly: a sanitizer or a preloaded library may have replaced mmap() of
  // the C library by a function that is not safe in a signal handler.
  const long mapped = syscall(SYS_mmap, page, page_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L);
  return mapped == reinterpret_cast<long>(page);
}

Status PopulatePages(uint8_t* start, size_t size, const FaultGuard& guard,
                     const std::string& path) {
  if (size == 0) return Status::Ok();
  if (RetryInterrupted([&] { return madvise(start, size, kMadvPopulateWrite); }) == 0) {
    // A page that the guard has replaced can be populated, but does not belong to the file.
    return guard.faulted() ? PageFault("madvise", path) : Status::Ok();
  }
  if (errno == EINVAL) return TouchPages(start, size, guard, path);
  if (errno == EFAULT) return PageFault("madvise", path);
  return Status::System("madvise", errno, path);
}

// Not the private variants of the calls: they identify the word by its address, not by its file. A
// signal may end the wait early.
bool WaitOnSharedWord(void* address, uint32_t value, uint64_t micros) {
  struct timespec timeout = {};
  timeout.tv_sec = static_cast<time_t>(micros / 1000000);
  timeout.tv_nsec = static_cast<long>(micros % 1000000 * 1000);
  if (syscall(SYS_futex, address, FUTEX_WAIT, value, &timeout, nullptr, 0) == 0) return true;
  return errno == EAGAIN || errno == ETIMEDOUT || errno == EINTR;
}

void WakeOnSharedWord(void* address) {
  static_cast<void>(syscall(SYS_futex, address, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0));
}

}  // namespace durlog
