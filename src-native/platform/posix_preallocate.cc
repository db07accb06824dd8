#include "platform/posix_preallocate.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "platform/posix_fd.h"

namespace durlog {

Status ExtendTo(int fd, const std::string& path, uint64_t end) {
  struct stat info;
  if (fstat(fd, &info) != 0) return Status::System("fstat", errno, path);
  if (static_cast<uint64_t>(info.st_size) >= end) return Status::Ok();
  if (RetryInterrupted([&] { return ftruncate(fd, static_cast<off_t>(end)); }) == 0) {
    return Status::Ok();
  }
  return Status::System("ftruncate", errno, path).WithOffset(end);
}

Status AllocateIn(int fd, const std::string& path, Preallocation how, uint64_t offset,
                  uint64_t length) {
  if (length == 0) return Status::Ok();
  switch (how) {
    case Preallocation::kNone:
      return Status::Ok();
    case Preallocation::kSparse:
      return ExtendTo(fd, path, offset + length);
    case Preallocation::kFallocate:
    case Preallocation::kKeepSize:
    case Preallocation::kZeroRange:
      return AllocateBlocks(fd, path, how, offset, length);
    case Preallocation::kZero:
    case Preallocation::kRecycle:
      break;
  }
  return Status::Error(Code::kInvalidArgument, "this preallocation is not the platform's to do")
      .WithPath(path);
}

}  // namespace durlog
