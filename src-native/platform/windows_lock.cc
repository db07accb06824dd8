#include "platform/windows_lock.h"

#include <string>
#include <utility>

#include "base/owner_line.h"
#include "platform/windows_error.h"
#include "platform/windows_file.h"

namespace durlog {
namespace {

// A locked byte can be neither read nor written through another handle, so the lock is on a byte
// far after the pid. The file need not contain this byte.
constexpr DWORD kLockedByteHigh = 0x40000000;

OVERLAPPED LockedByte() {
  OVERLAPPED position = {};
  position.OffsetHigh = kLockedByteHigh;
  return position;
}

// On a full disk, the log must still open, and the pid of an older owner must not stay in the file.
// Bytes after the line do not belong to the lock.
void WriteOwner(HANDLE file, int64_t pid) {
  const std::string line = OwnerLine({pid, 0});
  const auto bytes = static_cast<DWORD>(line.size());
  OVERLAPPED start = {};
  DWORD put = 0;
  if (WriteFile(file, line.data(), bytes, &put, &start) && put == bytes) return;
  LARGE_INTEGER size = {};
  if (!GetFileSizeEx(file, &size) || size.QuadPart > bytes) return;
  FILE_END_OF_FILE_INFO empty = {};
  SetFileInformationByHandle(file, FileEndOfFileInfo, &empty, sizeof empty);
}

// Holds a lock on a file that has no owner line.
class WindowsFileLock : public FileLock {
 public:
  explicit WindowsFileLock(ScopedHandle file) : file_(std::move(file)) {}
  WindowsFileLock(const WindowsFileLock&) = delete;
  WindowsFileLock& operator=(const WindowsFileLock&) = delete;
  // Unlocks explicitly, because after a close the system may release the lock later.
  ~WindowsFileLock() override {
    OVERLAPPED position = LockedByte();
    UnlockFileEx(file_.get(), 0, 1, 0, &position);
  }
  Result<FileId> Id() override { return IdOfHandle(file_.get(), ""); }

 protected:
  const ScopedHandle file_;
};

// Holds a lock on a file with an owner line.
class WindowsOwnerLock final : public WindowsFileLock {
 public:
  using WindowsFileLock::WindowsFileLock;
  // The pid is removed before the lock is released, so that errors about the next owner never name
  // this process.
  ~WindowsOwnerLock() override { WriteOwner(file_.get(), 0); }
};

// 0 if the file has no pid: the owner holds the lock but has not written its pid yet.
int64_t ReadOwner(HANDLE file) {
  char line[kOwnerLineBytes];
  OVERLAPPED start = {};
  DWORD got = 0;
  if (!ReadFile(file, line, sizeof line, &got, &start)) return 0;
  return OwnerInLine(line, got).id;
}

// The pid of a killed owner stays in the file until the next owner has written its own.
bool IsAlive(int64_t pid) {
  const ScopedHandle process(OpenProcess(SYNCHRONIZE, FALSE, static_cast<DWORD>(pid)));
  if (!process.valid()) return GetLastError() == ERROR_ACCESS_DENIED;
  return WaitForSingleObject(process.get(), 0) == WAIT_TIMEOUT;
}

// How often to read the file again, with pauses of a millisecond: if the owner has not written its
// pid yet, and if it seems to be dead. Then its lock is about to be released, or another process is
// testing the lock.
constexpr int kOwnerAttempts = 1000;
constexpr int kDeadOwnerAttempts = 50;

// False if another open of the file has the lock. The lock belongs to the handle, so it excludes
// other handles of the same process too.
Result<bool> TakeLock(HANDLE file, DWORD kind, const std::string& path) {
  OVERLAPPED position = LockedByte();
  if (LockFileEx(file, kind | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &position)) return true;
  const DWORD error = GetLastError();
  if (error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING) return false;
  return WindowsError("LockFileEx", error, path);
}

}  // namespace

Result<bool> IsHandleLocked(HANDLE file, const std::string& path) {
  DURLOG_ASSIGN_OR_RETURN(const bool taken, TakeLock(file, 0, path));
  if (!taken) return true;
  OVERLAPPED position = LockedByte();
  UnlockFileEx(file, 0, 1, 0, &position);
  return false;
}

Result<std::unique_ptr<FileLock>> TryLockFile(ScopedHandle file, const std::string& path) {
  DURLOG_ASSIGN_OR_RETURN(const bool taken, TakeLock(file.get(), LOCKFILE_EXCLUSIVE_LOCK, path));
  if (!taken) return std::unique_ptr<FileLock>();
  return std::unique_ptr<FileLock>(new WindowsFileLock(std::move(file)));
}

Result<std::unique_ptr<FileLock>> LockOpenFile(ScopedHandle file, const std::string& path) {
  int64_t owner = 0;
  for (int attempt = 0; attempt < kOwnerAttempts; ++attempt) {
    DURLOG_ASSIGN_OR_RETURN(const bool taken, TakeLock(file.get(), LOCKFILE_EXCLUSIVE_LOCK, path));
    if (taken) {
      WriteOwner(file.get(), GetCurrentProcessId());
      return std::unique_ptr<FileLock>(new WindowsOwnerLock(std::move(file)));
    }
    owner = ReadOwner(file.get());
    if (owner > 0 && (attempt >= kDeadOwnerAttempts || IsAlive(owner))) break;
    Sleep(1);
  }
  return Status::Locked(owner, GetCurrentProcessId()).WithPath(path);
}

}  // namespace durlog
