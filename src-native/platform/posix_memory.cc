#include "platform/posix_memory.h"

#include <atomic>

namespace durlog {
namespace {

// Loaded at run time, because compilers replace an atomic "or" with a constant 0 by a plain load,
// which would leave the page write-protected.
volatile const uint8_t kNothing = 0;

}  // namespace

Status TouchPages(uint8_t* start, size_t size, const FaultGuard& guard, const std::string& path) {
  static_assert(sizeof(std::atomic<uint8_t>) == 1, "the touch must not be wider than one byte");
  for (size_t at = 0; at < size; at += PageBytes()) {
    // An atomic read-modify-write: a separate load and store could overwrite a value that another
    // thread stores in between.
    reinterpret_cast<std::atomic<uint8_t>*>(start + at)
        ->fetch_or(kNothing, std::memory_order_relaxed);
    if (guard.faulted()) return PageFault("populate", path);
  }
  return Status::Ok();
}

Status PageFault(const char* operation, const std::string& path) {
  return Status::System(operation, EIO, path)
      .WithMessage(
          "the kernel could not provide a page of the map: the file was truncated, its device "
          "failed, or the disk is full");
}

}  // namespace durlog
