#include <fcntl.h>

#include <cerrno>

#include "platform/posix_direct.h"

namespace durlog {

int DirectOpenFlags() { return 0; }

int DurableOpenFlags() { return 0; }

Status PrepareDirect(int fd, const std::string& path) {
  if (fcntl(fd, F_NOCACHE, 1) != -1) return Status::Ok();
  return Status::System("F_NOCACHE", errno, path).WithCode(Code::kUnsupported);
}

}  // namespace durlog
