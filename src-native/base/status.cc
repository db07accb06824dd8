#include "base/status.h"

#include <cerrno>
#include <system_error>

namespace durlog {
namespace {

Code CodeOf(int sys_errno) {
#ifdef EDQUOT
  if (sys_errno == EDQUOT) return Code::kNoSpace;
#endif
  switch (sys_errno) {
    case ENOSPC:
    case EFBIG: return Code::kNoSpace;
    case EMFILE:
    case ENFILE: return Code::kTooManyFiles;
    case ENOMEM: return Code::kOutOfMemory;
    case ENOTDIR: return Code::kNotALog;
    default: return Code::kIo;
  }
}

std::string Explain(int sys_errno) {
  const std::string reason = std::generic_category().message(sys_errno);
  switch (sys_errno) {
    case EACCES:
    case EPERM:
      return "permission denied: the user of this process needs the right to read the folder and "
             "its files, and to write them if it appends";
    case EROFS:
      return reason + ": mount the file system with rw, or choose a folder on another one";
    case ENOTDIR:
      return "a file is in the place of this folder or of one above it: name a folder, or move the "
             "file away if a folder belongs there";
    case ENOSPC: return reason + ": free some space";
    case EMFILE:
    case ENFILE: return reason + ": close files, or raise the limit (ulimit -n)";
    default: return reason;
  }
}

const std::string& EmptyString() {
  static const std::string empty;
  return empty;
}

}  // namespace

void Status::Free::operator()(Detail* detail) const { std::default_delete<Detail>()(detail); }

Status::DetailPtr Status::Clone(const Status& other) {
  return DetailPtr(other.detail_ ? std::make_unique<Detail>(*other.detail_).release() : nullptr);
}

Status Status::Error(Code code, const char* message) { return Error(code, std::string(message)); }

Status Status::Error(Code code, std::string message) {
  Status status;
  status.detail_.reset(std::make_unique<Detail>().release());
  status.detail_->code = code;
  status.detail_->message = std::move(message);
  return status;
}

Status Status::OfErrno(int sys_errno) {
  Status status = Error(CodeOf(sys_errno), Explain(sys_errno));
  status.detail_->sys_errno = sys_errno;
  return status;
}

Status Status::System(const char* operation, int sys_errno, const std::string& path) {
  Status status = OfErrno(sys_errno);
  status.detail_->message.insert(0, std::string(operation) + ": ");
  status.detail_->operation = operation;
  status.detail_->path = path;
  return status;
}

Status Status::OfSync(const char* operation, int sys_errno, const std::string& path) {
  return System(operation, sys_errno, path).WithCode(Code::kIo);
}

Status Status::Locked(int64_t owner_pid, int64_t own_pid, bool shared) {
  if (shared) {
    return Error(Code::kLocked,
                 "the log is open in shared mode: close it there, or open it in shared mode too")
        .WithOwner(owner_pid);
  }
  return Error(Code::kLocked,
               owner_pid == own_pid
                   ? "this process has the log open already, maybe in a worker thread: close it "
                     "there first"
                   : "another writer has the log open: wait until it closes the log, or end it")
      .WithOwner(owner_pid);
}

const std::string& Status::path() const { return detail_ ? detail_->path : EmptyString(); }
const std::string& Status::message() const { return detail_ ? detail_->message : EmptyString(); }

Status&& Status::WithCode(Code code) && {
  detail_->code = code;
  return std::move(*this);
}
Status&& Status::WithPath(const std::string& path) && {
  detail_->path = path;
  return std::move(*this);
}
Status&& Status::WithOffset(uint64_t offset) && {
  detail_->offset = static_cast<int64_t>(offset);
  return std::move(*this);
}
Status&& Status::WithStored() && {
  detail_->stored = true;
  return std::move(*this);
}
Status&& Status::WithOwner(int64_t pid) && {
  detail_->owner_pid = pid;
  return std::move(*this);
}
Status&& Status::WithLost(uint64_t first, uint64_t last) && {
  detail_->first_lost = first;
  detail_->last_lost = last;
  return std::move(*this);
}
Status&& Status::WithMessage(const std::string& message) && {
  detail_->message = message;
  return std::move(*this);
}

}  // namespace durlog
