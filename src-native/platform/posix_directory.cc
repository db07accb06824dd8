#include "platform/posix_directory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "platform/posix_cache.h"
#include "platform/posix_error.h"
#include "platform/posix_file.h"
#include "platform/posix_lock.h"
#include "platform/posix_new_file.h"
#include "platform/posix_sync.h"
#include "platform/wrong_type.h"

namespace durlog {
namespace {

int FlagsFor(OpenMode mode) {
  switch (mode) {
    case OpenMode::kRead: return O_RDONLY;
    case OpenMode::kReadWrite:
    case OpenMode::kCreateNew:
    case OpenMode::kCreatePrivate: return O_RDWR;
    case OpenMode::kDirect: return O_RDWR | DirectOpenFlags() | DurableOpenFlags();
    case OpenMode::kDirectUnsynced: return O_RDWR | DirectOpenFlags();
  }
  return O_RDONLY;
}

// With O_NONBLOCK, so that a FIFO is refused after it was opened, and not waited for.
constexpr int kSafeFlags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

bool IsDotName(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

}  // namespace

// Opens a new description, because the read position of a folder belongs to the description.
FolderEntries EntriesOf(int folder) {
  ScopedFd fd(
      RetryInterrupted([&] { return openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  FolderEntries stream(fd.valid() ? fdopendir(fd.get()) : nullptr);
  if (stream != nullptr) fd.Release();  // the stream owns it now
  return stream;
}

Status PosixDirectory::CheckName(const std::string& name) const {
  if (!name.empty() && name.find_first_of(std::string("/\0", 2)) == std::string::npos &&
      !IsDotName(name.c_str())) {
    return Status::Ok();
  }
  return Status::Error(Code::kInvalidArgument, "is not the name of a file in this folder")
      .WithPath(path_);
}

Result<ScopedFd> PosixDirectory::CreateRegular(const std::string& name, int flags) {
  DURLOG_ASSIGN_OR_RETURN(ScopedFd fd, OpenRegular(name, flags | O_CREAT | O_EXCL));
  TakeAccessOfFolder(fd_.get(), fd.get(), name);
  return fd;
}

Result<ScopedFd> PosixDirectory::OpenRegular(const std::string& name, int flags) {
  DURLOG_RETURN_IF_ERROR(CheckName(name));
  const std::string path = PathOf(name);
  ScopedFd fd;
  do {
    fd = ScopedFd(RetryInterrupted(
        [&] { return openat(fd_.get(), name.c_str(), flags | kSafeFlags, 0600); }));
    // A check that only reads can wait for the next time.
  } while (!fd.valid() && errno == EMFILE && (flags & O_RDWR) != 0 && reserve_ &&
           reserve_->GiveUpOne());
  if (!fd.valid()) return NameError("openat", errno, path);
  if (reserve_) reserve_->Fill();
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return Status::System("fstat", errno, path);
  if (S_ISREG(info.st_mode)) return fd;
  return Status::Error(Code::kNotALog, kNotRegularMessage).WithPath(path);
}

Result<std::unique_ptr<File>> PosixDirectory::Open(const std::string& name, OpenMode mode) {
  const bool direct = IsDirect(mode);
  Result<ScopedFd> fd =
      mode == OpenMode::kCreateNew
          ? CreateRegular(name, FlagsFor(mode))
          : OpenRegular(name, FlagsFor(mode) | (CreatesFile(mode) ? O_CREAT | O_EXCL : 0));
  if (fd.ok() && mode == OpenMode::kCreatePrivate) TakeOwnerOfFolder(fd_.get(), fd->get());
  if (!fd.ok()) {
    Status status = fd.TakeStatus();
    if (direct && status.sys_errno() == EINVAL) {
      return std::move(status)
          .WithCode(Code::kUnsupported)
          .WithMessage("the file system has no direct I/O");
    }
    return status;
  }
  if (direct) DURLOG_RETURN_IF_ERROR(PrepareDirect(fd->get(), PathOf(name)));
  return std::unique_ptr<File>(new PosixFile(std::move(fd.value()), PathOf(name), mode, reserve_));
}

std::unique_ptr<File> PosixDirectory::OpenCached(const std::string& name) {
  if (!CheckName(name).ok()) return nullptr;
  ScopedFd fd = OpenCachedOf(fd_.get(), name.c_str(), O_RDONLY | kSafeFlags);
  struct stat info;
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return nullptr;
  return std::make_unique<PosixFile>(std::move(fd), PathOf(name), OpenMode::kRead);
}

Result<std::vector<FileEntry>> PosixDirectory::List() {
  const FolderEntries stream = EntriesOf(fd_.get());
  if (stream == nullptr) return NameError("openat", errno, path_);
  std::vector<FileEntry> entries;
  for (;;) {
    errno = 0;
    const struct dirent* entry = readdir(stream.get());
    if (entry == nullptr) break;
    if (IsDotName(entry->d_name)) continue;
    bool is_regular = entry->d_type == DT_REG;
    if (entry->d_type == DT_UNKNOWN) {
      struct stat info;
      if (fstatat(fd_.get(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) continue;  // removed since it was listed
        return Status::System("fstatat", errno, PathOf(entry->d_name));
      }
      is_regular = S_ISREG(info.st_mode);
    }
    entries.push_back({entry->d_name, is_regular});
  }
  if (errno != 0) return Status::System("readdir", errno, path_);
  return entries;
}

Status PosixDirectory::Rename(const std::string& from, const std::string& to) {
  DURLOG_RETURN_IF_ERROR(CheckName(from));
  DURLOG_RETURN_IF_ERROR(CheckName(to));
  if (renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) == 0) return Status::Ok();
  return NameError("renameat", errno, PathOf(from));
}

Status PosixDirectory::Remove(const std::string& name) {
  DURLOG_RETURN_IF_ERROR(CheckName(name));
  if (unlinkat(fd_.get(), name.c_str(), 0) == 0) return Status::Ok();
  return NameError("unlinkat", errno, PathOf(name));
}

Status PosixDirectory::SyncFileSystem() { return SyncFileSystemOf(fd_.get(), path_); }

Status PosixDirectory::Sync() {
  return sync_.Run([this] { return SyncFullOf(fd_.get(), path_); });
}

Result<std::unique_ptr<FileLock>> PosixDirectory::Lock(const std::string& name) {
  for (;;) {
    Result<ScopedFd> fd = OpenRegular(name, O_RDWR);
    if (fd.status().code() == Code::kNotFound) fd = CreateRegular(name, O_RDWR);
    if (fd.ok()) return LockOpenFile(std::move(*fd), PathOf(name));
    // Another process may have created it in the meantime.
    if (fd.status().sys_errno() != EEXIST) return fd.TakeStatus();
  }
}

Result<Capabilities> PosixDirectory::Probe() { return ProbeDirectory(fd_.get(), path_); }

Result<FileId> PosixDirectory::Id() { return IdOfDescriptor(fd_.get(), path_); }

Result<FileId> PosixDirectory::IdOf(const std::string& name) {
  DURLOG_RETURN_IF_ERROR(CheckName(name));
  struct stat info;
  if (fstatat(fd_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return NameError("fstatat", errno, PathOf(name));
  }
  return FileId{static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino)};
}

void PosixDirectory::KeepDescriptors() { reserve_ = std::make_shared<PosixReserve>(fd_); }

}  // namespace durlog
