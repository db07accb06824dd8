#include "platform/posix_error.h"

#include <cerrno>

#include "platform/wrong_type.h"

namespace durlog {

Status NameError(const char* operation, int sys_errno, const std::string& path) {
  Status status = Status::System(operation, sys_errno, path);
  switch (sys_errno) {
    case ENOENT: return std::move(status).WithCode(Code::kNotFound);
    case ELOOP: return std::move(status).WithCode(Code::kNotALog).WithMessage(kLinkMessage);
    case EISDIR:
      return std::move(status).WithCode(Code::kNotALog).WithMessage(kFolderForFileMessage);
    default: return status;
  }
}

}  // namespace durlog
