#pragma once

#include <sys/ioctl.h>

namespace durlog {

template <typename Request>
int IoctlOf(int (*call)(int, Request, ...), int fd, unsigned long request, void* argument) {
  return call(fd, static_cast<Request>(request), argument);
}

// ioctl(2). glibc declares the request as an unsigned long, musl as an int; the kernel uses only 32
// bits.
inline int Ioctl(int fd, unsigned long request, void* argument) {
  return IoctlOf(&ioctl, fd, request, argument);
}

}  // namespace durlog
