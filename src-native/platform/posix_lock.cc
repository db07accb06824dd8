#include "platform/posix_lock.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace durlog {
namespace {

// The pid stands in a line of one fixed length, so that a new one covers the old without a
// truncation in between that a reader could meet.
constexpr int kPidDigits = 20;
constexpr size_t kPidLineBytes = kPidDigits + 1;

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(ScopedFd fd) : fd_(std::move(fd)), owner_(getpid()) {}
  PosixFileLock(const PosixFileLock&) = delete;
  PosixFileLock& operator=(const PosixFileLock&) = delete;
  // Not left to closing: a child on its way from fork to exec shares the open file, and would keep
  // a log locked that we have closed. Nor done by such a child, whose copy of this object may be
  // destroyed at its exit: that would take the lock away from us.
  ~PosixFileLock() override {
    if (getpid() == owner_) UnlockDescriptor(fd_.get());
  }

 private:
  const ScopedFd fd_;
  const pid_t owner_;
};

// 0 where the owner has not come round to writing it.
int64_t ReadOwner(int fd) {
  char line[kPidLineBytes + 1] = {};
  if (RetryInterrupted([&] { return pread(fd, line, kPidLineBytes, 0); }) <= 0) return 0;
  const int64_t pid = std::strtoll(line, nullptr, 10);
  return pid > 0 ? pid : 0;
}

// The pid is there for the message of whoever is refused, not for the exclusion: on a full disk
// the log can be opened all the same, and an older owner's pid must not stay then.
void WriteOwner(int fd) {
  char line[kPidLineBytes + 1];
  std::snprintf(line, sizeof line, "%-*" PRId64 "\n", kPidDigits, static_cast<int64_t>(getpid()));
  if (RetryInterrupted([&] { return pwrite(fd, line, kPidLineBytes, 0); }) !=
      static_cast<ssize_t>(kPidLineBytes)) {
    (void)!RetryInterrupted([&] { return ftruncate(fd, 0); });
  }
}

}  // namespace

Result<std::unique_ptr<FileLock>> LockOpenFile(ScopedFd fd, const std::string& path) {
  DURLOG_ASSIGN_OR_RETURN(const bool taken, TryLockDescriptor(fd.get(), path));
  if (!taken) {
    return Status::Error(Code::kLocked, "another writer has the log open")
        .WithPath(path)
        .WithOwner(ReadOwner(fd.get()));
  }
  WriteOwner(fd.get());
  return std::unique_ptr<FileLock>(new PosixFileLock(std::move(fd)));
}

}  // namespace durlog
