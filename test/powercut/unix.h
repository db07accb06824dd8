// Unix helpers for all parts of the rig: descriptors that close themselves, errno as an exception,
// and the stop flag. The rig is a separate program, so unlike durlog's core it throws: destructors
// undo every mount, loop device and child on the way out.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace powercut {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() { Close(); }

  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

[[noreturn]] inline void ThrowErrno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

inline UniqueFd Open(const std::string& path, int flags, mode_t mode = 0600) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) ThrowErrno("open " + path);
  return UniqueFd(fd);
}

// SIGINT, SIGTERM and SIGHUP only set this flag. Functions that wait check it and throw, so that
// the destructors run.
inline volatile std::sig_atomic_t g_stop_requested = 0;

inline void ThrowIfStopped() {
  if (g_stop_requested != 0) throw std::runtime_error("stopped by a signal");
}

}  // namespace powercut
