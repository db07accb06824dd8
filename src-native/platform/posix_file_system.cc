#include "platform/posix_file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "platform/posix_directory.h"
#include "platform/posix_error.h"
#include "platform/posix_fd.h"
#include "platform/posix_new_file.h"
#include "platform/posix_sync.h"
#include "platform/posix_system.h"

namespace durlog {
namespace {

// Removes slashes at the end: "a/b/" becomes "a/b", but "/" stays.
std::string WithoutTrailingSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : WithoutTrailingSlashes(path.substr(0, slash));
}

ScopedFd OpenFolder(const std::string& path) {
  return ScopedFd(
      RetryInterrupted([&] { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
}

Status SyncParentOf(const std::string& path) {
  const std::string parent = ParentOf(path);
  const ScopedFd fd = OpenFolder(parent);
  if (!fd.valid()) return NameError("open", errno, parent);
  return SyncFullOf(fd.get(), parent);
}

// Best effort: the new folder may belong to its creator.
void TakeOwnerOfParent(const std::string& path) {
  const ScopedFd parent = OpenFolder(ParentOf(path));
  const ScopedFd made(RetryInterrupted(
      [&] { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }));
  if (parent.valid() && made.valid()) TakeOwnerOfFolder(parent.get(), made.get());
}

// Makes `path` and its missing parents, from the top down. Each folder is durable before the next
// one is made.
Status MakeFolder(const std::string& path) {
  bool made = mkdir(path.c_str(), 0700) == 0;
  if (!made) {
    if (errno == EEXIST) return Status::Ok();
    if (errno != ENOENT || ParentOf(path) == path) return NameError("mkdir", errno, path);
    DURLOG_RETURN_IF_ERROR(MakeFolder(ParentOf(path)));
    made = mkdir(path.c_str(), 0700) == 0;
    if (!made && errno != EEXIST) return NameError("mkdir", errno, path);
  }
  if (made) TakeOwnerOfParent(path);
  return SyncParentOf(path);
}

}  // namespace

Result<std::unique_ptr<Directory>> PosixFileSystem::OpenDirectory(const std::string& path,
                                                                  bool create) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return Status::Error(Code::kInvalidArgument, "is not the path of a folder").WithPath(path);
  }
  std::string folder = WithoutTrailingSlashes(path);
  ScopedFd fd = OpenFolder(folder);
  if (fd.valid() && create) {
    // The process that made the folder may have died before its entry was durable. Best effort,
    // because usually the folder is old, and this process may not be allowed to read its parent.
    static_cast<void>(SyncParentOf(folder));
  }
  if (!fd.valid() && errno == ENOENT && create) {
    DURLOG_RETURN_IF_ERROR(MakeFolder(folder));
    fd = OpenFolder(folder);
  }
  if (!fd.valid()) {
    Status status = NameError("open", errno, folder);
    if (status.code() != Code::kNotFound || create) return status;
    return std::move(status).WithMessage(kNoFolder);
  }
  return std::unique_ptr<Directory>(new PosixDirectory(std::move(fd), std::move(folder)));
}

uint64_t PosixFileSystem::NowMs() { return WallClockMs(); }

uint64_t PosixFileSystem::Random64() { return SystemRandom64(); }

int64_t PosixFileSystem::ProcessId() { return getpid(); }

uint32_t PosixFileSystem::PidNamespace() { return SystemPidNamespace(); }

BootId PosixFileSystem::CurrentBoot() {
  static const BootId boot = SystemBoot();
  return boot;
}

FileSystem& DefaultFileSystem() {
  static PosixFileSystem* const file_system = new PosixFileSystem;
  return *file_system;
}

}  // namespace durlog
