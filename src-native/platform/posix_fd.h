// A file descriptor that closes itself, and the retry of interrupted calls.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

namespace durlog {

// Move-only. If the result of closing matters, call Release() and close the descriptor.
class ScopedFd {
 public:
  ScopedFd() = default;
  explicit ScopedFd(int fd) : fd_(fd) {}
  ScopedFd(ScopedFd&& other) noexcept : fd_(other.Release()) {}
  ScopedFd& operator=(ScopedFd&& other) noexcept {
    if (this != &other) Reset(other.Release());
    return *this;
  }
  ~ScopedFd() { Reset(-1); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd) {
    // Not retried on EINTR: the descriptor is free by then, and another thread may have reused it.
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// A descriptor with several owners, of which the last one closes it.
class SharedFd {
 public:
  SharedFd() = default;
  explicit SharedFd(ScopedFd fd) : fd_(std::make_shared<ScopedFd>(std::move(fd))) {}

  int get() const { return fd_ ? fd_->get() : -1; }
  bool valid() const { return get() >= 0; }
  // Gives up this owner's share. If it was the last one, returns the descriptor, which the caller
  // closes; otherwise returns -1.
  int Release() {
    const std::shared_ptr<ScopedFd> fd = std::exchange(fd_, nullptr);
    return fd.use_count() == 1 ? fd->Release() : -1;
  }

 private:
  std::shared_ptr<ScopedFd> fd_;
};

// Calls `call` until it returns something other than -1 with EINTR. Not for the syncs: see
// posix_sync.h.
template <typename Call>
auto RetryInterrupted(Call call) {
  for (;;) {
    auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

// Duplicates the descriptor of an open file; invalid, with errno set, on failure.
inline ScopedFd DuplicateFd(int fd) {
  return ScopedFd(RetryInterrupted([fd] { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }));
}

// Closes the file of `fd`, and makes `fd` a duplicate of `of`. False, with `fd` unchanged, on
// failure.
inline bool ReplaceFd(int fd, int of) {
  return RetryInterrupted([=] { return dup2(of, fd); }) >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

}  // namespace durlog
