#include "platform/posix_error.h"

#include <cerrno>

namespace durlog {

Status NameError(const char* operation, int sys_errno, const std::string& path) {
  Status status = Status::System(operation, sys_errno, path);
  switch (sys_errno) {
    case ENOENT: return std::move(status).WithCode(Code::kNotFound);
    case ELOOP:
      return std::move(status)
          .WithCode(Code::kNotALog)
          .WithMessage("is a symbolic link, which durlog never follows within a log's folder");
    case EISDIR:
      return std::move(status)
          .WithCode(Code::kNotALog)
          .WithMessage("is a folder where a file of the log is expected");
    case ENOTDIR:
      return std::move(status)
          .WithCode(Code::kNotALog)
          .WithMessage("is, or lies below, a file where a folder is expected");
    default: return status;
  }
}

}  // namespace durlog
