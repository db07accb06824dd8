#include "cursor/trim_lock.h"

#include <utility>

#include "base/owner_line.h"

namespace durlog {
namespace {

Status BeingTrimmed(const Directory& directory, int64_t owner_pid) {
  return Status::Error(Code::kLocked,
                       "a process is trimming the log and is stopped or slow: resume or kill it, "
                       "then try again")
      .WithOwner(owner_pid)
      .WithPath(directory.PathOf(kTrimLockName));
}

}  // namespace

Result<std::unique_ptr<FileLock>> LockTrims(Directory& directory) {
  Result<std::unique_ptr<FileLock>> lock = directory.Lock(kTrimLockName);
  const Code code = lock.status().code();
  if (code == Code::kNoSpace) return std::unique_ptr<FileLock>();
  if (code == Code::kLocked) return BeingTrimmed(directory, lock.status().owner_pid());
  return lock;
}

Status CheckTrims(FileSystem& file_system, Directory& directory) {
  const Result<std::unique_ptr<File>> file = directory.Open(kTrimLockName, OpenMode::kRead);
  if (file.status().code() == Code::kNotFound) return Status::Ok();
  if (!file.ok()) return file.status();
  // Also asked on a network file system, which shows at least the locks of this machine.
  const Result<bool> locked = (*file)->IsLocked();
  if (locked.status().code() == Code::kUnsupported) return Status::Ok();
  if (!locked.ok()) return locked.status();
  if (!*locked) return Status::Ok();
  char line[kOwnerLineBytes];
  DURLOG_ASSIGN_OR_RETURN(const size_t read, (*file)->ReadAt(0, line, sizeof line));
  return BeingTrimmed(directory, OwnerInLine(line, read).IdIn(file_system.PidNamespace()));
}

}  // namespace durlog
