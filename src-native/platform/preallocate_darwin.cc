#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "platform/posix_file.h"
#include "platform/posix_system.h"

namespace durlog {
namespace {

// F_PREALLOCATE allocates blocks after the last allocated one. It does not change the file's size.
Status Preallocate(int fd, const std::string& path, uint64_t end) {
  struct stat info;
  if (fstat(fd, &info) != 0) return Status::System("fstat", errno, path);
  const uint64_t allocated = static_cast<uint64_t>(info.st_blocks) * 512;
  if (allocated >= end) return Status::Ok();
  fstore_t request = {};
  request.fst_posmode = F_PEOFPOSMODE;
  request.fst_length = static_cast<off_t>(end - allocated);
  // In one contiguous piece if possible, otherwise in several; but all of the space or none.
  int error = 0;
  for (const int flags : {F_ALLOCATECONTIG | F_ALLOCATEALL, F_ALLOCATEALL}) {
    request.fst_flags = static_cast<unsigned>(flags);
    if (RetryInterrupted([&] { return fcntl(fd, F_PREALLOCATE, &request); }) != -1) {
      return Status::Ok();
    }
    error = errno;
  }
  Status status = Status::System("F_PREALLOCATE", error, path);
  if (error == ENOTSUP || error == EINVAL) return std::move(status).WithCode(Code::kUnsupported);
  return status;
}

}  // namespace

Status PosixFile::Allocate(uint64_t offset, uint64_t length) {
  if (length == 0) return Status::Ok();
  const uint64_t end = offset + length;
  ExpectFileSizeLimit();
  DURLOG_RETURN_IF_ERROR(Preallocate(fd_.get(), path_, end));
  DURLOG_ASSIGN_OR_RETURN(const uint64_t size, Size());
  return size >= end ? Status::Ok() : Truncate(end);
}

Status PosixFile::ZeroRange(uint64_t, uint64_t) {
  return Status::Error(Code::kUnsupported, "macOS cannot zero a range without writing it")
      .WithPath(path_);
}

}  // namespace durlog
