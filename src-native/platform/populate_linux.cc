#include <sys/mman.h>

#include <cerrno>

#include "platform/posix_fd.h"
#include "platform/posix_populate.h"

namespace durlog {
namespace {

// By number, because it is younger (Linux 5.14) than headers that durlog is built against.
constexpr int kMadvPopulateWrite = 23;

}  // namespace

Status PopulatePages(uint8_t* start, size_t size, const FaultGuard& guard,
                     const std::string& path) {
  if (size == 0) return Status::Ok();
  if (RetryInterrupted([&] { return madvise(start, size, kMadvPopulateWrite); }) == 0) {
    // A page that the guard has replaced populates well, and is not the file's.
    return guard.faulted() ? PageFault("madvise", path) : Status::Ok();
  }
  if (errno == EINVAL) return TouchPages(start, size, guard, path);
  if (errno == EFAULT) return PageFault("madvise", path);
  return Status::System("madvise", errno, path);
}

}  // namespace durlog
