#include "platform/posix_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/bytes.h"
#include "platform/posix_lock.h"
#include "platform/posix_mapping.h"
#include "platform/posix_sync.h"
#include "platform/posix_system.h"

namespace durlog {
namespace {

static_assert(sizeof(off_t) == 8, "build with _FILE_OFFSET_BITS=64");

// The most bytes of one call: Linux transfers at most 2 GiB less a page, and macOS refuses more
// than INT_MAX.
constexpr size_t kMaxTransferBytes = size_t{1} << 30;

// The smallest step of a direct transfer on any device that durlog knows.
constexpr uint64_t kDirectSectorBytes = 512;

}  // namespace

PosixFile::~PosixFile() {
  if (reserve_) (void)Close();
}

Result<size_t> PosixFile::ReadAt(uint64_t offset, void* to, size_t length) {
  uint8_t* out = static_cast<uint8_t*>(to);
  size_t done = 0;
  while (done < length) {
    const size_t wanted = std::min(length - done, kMaxTransferBytes);
    const ssize_t got = RetryInterrupted(
        [&] { return pread(fd_.get(), out + done, wanted, static_cast<off_t>(offset + done)); });
    if (got < 0) return Status::System("pread", errno, path_).WithOffset(offset + done);
    done += static_cast<size_t>(got);
    // A short direct read has reached the end of the file. It could not continue anyway: the next
    // offset is not aligned.
    if (got == 0 || (direct_ && static_cast<size_t>(got) < wanted)) break;
  }
  return done;
}

Status PosixFile::WriteAt(uint64_t offset, const void* from, size_t length) {
  ExpectFileSizeLimit();
  const uint8_t* in = static_cast<const uint8_t*>(from);
  size_t done = 0;
  while (done < length) {
    const size_t wanted = std::min(length - done, kMaxTransferBytes);
    const ssize_t put = RetryInterrupted(
        [&] { return pwrite(fd_.get(), in + done, wanted, static_cast<off_t>(offset + done)); });
    if (put < 0) return WriteError(errno, offset + done, wanted);
    size_t step = static_cast<size_t>(put);
    // A short write ends where the room ends; the next call returns the reason. A direct write must
    // continue at the start of a sector.
    if (direct_) step = static_cast<size_t>(AlignDown(step, kDirectSectorBytes));
    if (step == 0) return WriteError(ENOSPC, offset + done, wanted);
    done += step;
  }
  return durable_ ? FinishSync(fd_.get(), "pwrite", path_) : Status::Ok();
}

Status PosixFile::WriteError(int error, uint64_t offset, size_t length) const {
  // RLIMIT_FSIZE shortens a direct write to an unaligned length before the file system gets it. The
  // error is then EINVAL.
  if (direct_ && error == EINVAL && PassesFileSizeLimit(offset + length)) error = EFBIG;
  return Status::System("pwrite", error, path_).WithOffset(offset);
}

Status PosixFile::SyncFull() { return SyncFullOf(fd_.get(), path_); }

Result<uint64_t> PosixFile::Size() {
  struct stat info;
  if (fstat(fd_.get(), &info) != 0) return Status::System("fstat", errno, path_);
  return static_cast<uint64_t>(info.st_size);
}

Status PosixFile::Truncate(uint64_t size) {
  ExpectFileSizeLimit();
  if (RetryInterrupted([&] { return ftruncate(fd_.get(), static_cast<off_t>(size)); }) == 0) {
    return Status::Ok();
  }
  return Status::System("ftruncate", errno, path_).WithOffset(size);
}

Result<std::unique_ptr<Mapping>> PosixFile::Map(uint64_t offset, size_t length) {
  return PosixMapping::Create(fd_, path_, offset, length, PROT_READ | PROT_WRITE);
}

Result<std::unique_ptr<Mapping>> PosixFile::MapForReading(uint64_t offset, size_t length) {
  return PosixMapping::Create(fd_, path_, offset, length, PROT_READ);
}

Result<std::unique_ptr<FileLock>> PosixFile::TryLock() {
  ScopedFd fd = DuplicateFd(fd_.get());
  if (!fd.valid()) return Status::System("F_DUPFD_CLOEXEC", errno, path_);
  return TryLockFile(std::move(fd), path_);
}

Result<bool> PosixFile::IsLocked() { return IsDescriptorLocked(fd_.get(), path_); }

Result<std::optional<LockKind>> PosixFile::RangeLockOfOthers(uint64_t offset, uint64_t length) {
  return RangeLockBesides(fd_.get(), path_, offset, length);
}

Result<FileId> IdOfDescriptor(int fd, const std::string& path) {
  struct stat info;
  if (fstat(fd, &info) != 0) return Status::System("fstat", errno, path);
  return FileId{static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino)};
}

Result<FileId> PosixFile::Id() { return IdOfDescriptor(fd_.get(), path_); }

bool PosixFile::HasOtherNames() {
  struct stat info;
  return fstat(fd_.get(), &info) == 0 && info.st_nlink > 1;
}

Status PosixFile::Close() {
  if (!fd_.valid()) return Status::Ok();
  const int fd = fd_.Release();
  if (fd < 0) return Status::Ok();  // a map of the file closes the descriptor when it ends
  if (reserve_) {
    reserve_->TakeOver(ScopedFd(fd));
    return Status::Ok();
  }
  // After EINTR the descriptor is closed; a second close could close another thread's file.
  if (close(fd) == 0 || errno == EINTR) return Status::Ok();
  return Status::System("close", errno, path_);
}

}  // namespace durlog
