#include "platform/posix_lock.h"

#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/owner_line.h"
#include "platform/posix_file.h"
#include "platform/posix_system.h"

namespace durlog {
namespace {

// On a full disk, the log must still open, and the pid of an older owner must not stay in the file.
// Bytes after the line do not belong to the lock.
void WriteOwner(int fd, const OwnerProcess& owner) {
  const std::string line = OwnerLine(owner);
  if (RetryInterrupted([&] { return pwrite(fd, line.data(), line.size(), 0); }) ==
      static_cast<ssize_t>(line.size())) {
    return;
  }
  struct stat info;
  if (fstat(fd, &info) == 0 && info.st_size <= static_cast<off_t>(line.size())) {
    (void)!RetryInterrupted([&] { return ftruncate(fd, 0); });
  }
}

// Holds a lock on a file that has no owner line.
class PosixFileLock : public FileLock {
 public:
  explicit PosixFileLock(ScopedFd fd) : fd_(std::move(fd)), owner_(getpid()) {}
  PosixFileLock(const PosixFileLock&) = delete;
  PosixFileLock& operator=(const PosixFileLock&) = delete;
  // Closing the file is not enough: a child between fork and exec shares the open file and would
  // keep the lock. Only the process that took the lock releases it: such a child may destroy its
  // copy of this object at its exit, which must not release the lock of its parent.
  ~PosixFileLock() override {
    if (IsOurs()) UnlockDescriptor(fd_.get());
  }
  Result<FileId> Id() override { return IdOfDescriptor(fd_.get(), ""); }

 protected:
  bool IsOurs() const { return getpid() == owner_; }

  const ScopedFd fd_;
  const pid_t owner_;
};

// Holds a lock on a file with an owner line.
class PosixOwnerLock final : public PosixFileLock {
 public:
  using PosixFileLock::PosixFileLock;
  // The pid is removed before the lock is released, so that errors about the next owner never name
  // this process.
  ~PosixOwnerLock() override {
    if (IsOurs()) WriteOwner(fd_.get(), {});
  }
};

// The id is 0 if the file has none: the owner holds the lock but has not written its line yet.
OwnerProcess ReadOwner(int fd) {
  char line[kOwnerLineBytes];
  const ssize_t got = RetryInterrupted([&] { return pread(fd, line, sizeof line, 0); });
  return got > 0 ? OwnerInLine(line, static_cast<size_t>(got)) : OwnerProcess{};
}

// The line of a killed owner stays in the file until the next owner has written its own.
bool IsAlive(int64_t pid) {
  return pid > 0 && (kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

// How often to read the file again, with pauses of a millisecond: if the owner has not written its
// line yet, and if it seems to be dead or belongs to another PID namespace.
constexpr int kOwnerAttempts = 1000;
constexpr int kDeadOwnerAttempts = 50;

bool IsSharedByOthers(int fd, const std::string& path) {
  const Result<std::optional<LockKind>> kind = RangeLockBesides(fd, path, 0, 0);
  return kind.ok() && *kind == LockKind::kShared;
}

void WaitAMillisecond() {
  const timespec millisecond = {0, 1'000'000};
  nanosleep(&millisecond, nullptr);
}

}  // namespace

Result<std::unique_ptr<FileLock>> TryLockFile(ScopedFd fd, const std::string& path) {
  DURLOG_ASSIGN_OR_RETURN(const bool taken, TryLockDescriptor(fd.get(), path));
  if (!taken) return std::unique_ptr<FileLock>();
  return std::unique_ptr<FileLock>(new PosixFileLock(std::move(fd)));
}

Result<std::unique_ptr<FileLock>> LockOpenFile(ScopedFd fd, const std::string& path) {
  const OwnerProcess self{getpid(), SystemPidNamespace()};
  int64_t owner = 0;
  bool shared = false;
  for (int attempt = 0; attempt < kOwnerAttempts; ++attempt) {
    DURLOG_ASSIGN_OR_RETURN(const bool taken, TryLockDescriptor(fd.get(), path));
    if (taken) {
      WriteOwner(fd.get(), self);
      return std::unique_ptr<FileLock>(new PosixOwnerLock(std::move(fd)));
    }
    const OwnerProcess named = ReadOwner(fd.get());
    owner = named.IdIn(self.name_space);
    // With a shared lock, there are several owners, and the one in the file may be dead.
    shared = IsSharedByOthers(fd.get(), path);
    if (shared || IsAlive(owner) || (named.id > 0 && attempt >= kDeadOwnerAttempts)) break;
    WaitAMillisecond();
  }
  if (shared && !IsAlive(owner)) owner = 0;
  return Status::Locked(owner, self.id, shared).WithPath(path);
}

}  // namespace durlog
