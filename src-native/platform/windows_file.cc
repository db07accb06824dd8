#include "platform/windows_file.h"

#include <algorithm>
#include <cerrno>

#include "base/bytes.h"
#include "platform/windows_error.h"
#include "platform/windows_lock.h"
#include "platform/windows_mapping.h"

namespace durlog {
namespace {

// The most bytes of one call, which must be below 4 GiB. A power of two keeps direct transfers
// aligned.
constexpr size_t kMaxTransferBytes = size_t{1} << 30;

// The position of one read or write. On a handle without FILE_FLAG_OVERLAPPED, the call still waits
// until the transfer is complete.
OVERLAPPED At(uint64_t offset) {
  OVERLAPPED position = {};
  position.Offset = static_cast<DWORD>(offset);
  position.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return position;
}

}  // namespace

Result<ScopedHandle> DuplicateOf(HANDLE file, const std::string& path) {
  HANDLE copy = nullptr;
  const HANDLE process = GetCurrentProcess();
  if (!DuplicateHandle(process, file, process, &copy, 0, FALSE, DUPLICATE_SAME_ACCESS)) {
    return WindowsError("DuplicateHandle", GetLastError(), path);
  }
  return ScopedHandle(copy);
}

Result<std::unique_ptr<FileLock>> WindowsFile::TryLock() {
  DURLOG_ASSIGN_OR_RETURN(ScopedHandle copy, DuplicateOf(handle_.get(), path_));
  return TryLockFile(std::move(copy), path_);
}

Result<bool> WindowsFile::IsLocked() { return IsHandleLocked(handle_.get(), path_); }

Result<FileId> IdOfHandle(HANDLE handle, const std::string& path) {
  // ReFS needs 128 bits. FAT has only the 64 bits below.
  FILE_ID_INFO id;
  if (GetFileInformationByHandleEx(handle, FileIdInfo, &id, sizeof id)) {
    const uint8_t* const bytes = id.FileId.Identifier;
    return FileId{id.VolumeSerialNumber ^ Load64(bytes + 8), Load64(bytes)};
  }
  BY_HANDLE_FILE_INFORMATION info;
  if (!GetFileInformationByHandle(handle, &info)) {
    return WindowsError("GetFileInformationByHandle", GetLastError(), path);
  }
  return FileId{info.dwVolumeSerialNumber,
                (static_cast<uint64_t>(info.nFileIndexHigh) << 32) | info.nFileIndexLow};
}

Result<FileId> WindowsFile::Id() { return IdOfHandle(handle_.get(), path_); }

Result<size_t> WindowsFile::ReadAt(uint64_t offset, void* to, size_t length) {
  uint8_t* out = static_cast<uint8_t*>(to);
  size_t done = 0;
  while (done < length) {
    const DWORD wanted = static_cast<DWORD>(std::min(length - done, kMaxTransferBytes));
    OVERLAPPED position = At(offset + done);
    DWORD got = 0;
    if (!ReadFile(handle_.get(), out + done, wanted, &got, &position)) {
      const DWORD error = GetLastError();
      if (error == ERROR_HANDLE_EOF) break;
      return WindowsError("ReadFile", error, path_).WithOffset(offset + done);
    }
    done += got;
    // A short direct read has reached the end of the file. It could not continue anyway: the next
    // offset is not aligned.
    if (got == 0 || (direct_ && got < wanted)) break;
  }
  return done;
}

Status WindowsFile::WriteAt(uint64_t offset, const void* from, size_t length) {
  const uint8_t* in = static_cast<const uint8_t*>(from);
  size_t done = 0;
  while (done < length) {
    const DWORD wanted = static_cast<DWORD>(std::min(length - done, kMaxTransferBytes));
    OVERLAPPED position = At(offset + done);
    DWORD put = 0;
    if (!WriteFile(handle_.get(), in + done, wanted, &put, &position)) {
      return WindowsError("WriteFile", GetLastError(), path_).WithOffset(offset + done);
    }
    if (put == 0) {
      return WindowsError("WriteFile", ERROR_HANDLE_DISK_FULL, path_).WithOffset(offset + done);
    }
    done += put;
  }
  // FILE_FLAG_WRITE_THROUGH would request a write through the drive's cache (FUA), which many
  // drives and drivers silently ignore. They do execute a flush, which also covers the file's
  // metadata.
  return durable_ ? SyncData() : Status::Ok();
}

// Windows has no such call. The system's lazy writer begins within a second.
Status WindowsFile::StartWriteback(uint64_t, uint64_t) { return Status::Ok(); }

// Never retried after a failure: see posix_sync.h. Windows has only one kind of sync, which
// includes the file's metadata and the drive's cache.
Status WindowsFile::SyncData() {
  if (FlushFileBuffers(handle_.get())) return Status::Ok();
  return WindowsSyncError("FlushFileBuffers", GetLastError(), path_);
}

Status WindowsFile::SyncFull() { return SyncData(); }

// Windows has no such call.
Status WindowsFile::DropCache() { return Status::Ok(); }

// Segments are not sparse files, so they have no holes.
Result<uint64_t> WindowsFile::NextData(uint64_t offset) { return offset; }

Result<uint64_t> WindowsFile::Size() {
  LARGE_INTEGER size;
  if (GetFileSizeEx(handle_.get(), &size)) return static_cast<uint64_t>(size.QuadPart);
  return WindowsError("GetFileSizeEx", GetLastError(), path_);
}

Status WindowsFile::Truncate(uint64_t size) {
  FILE_END_OF_FILE_INFO end;
  end.EndOfFile.QuadPart = static_cast<LONGLONG>(size);
  if (SetFileInformationByHandle(handle_.get(), FileEndOfFileInfo, &end, sizeof end)) {
    return Status::Ok();
  }
  return WindowsError("FileEndOfFileInfo", GetLastError(), path_).WithOffset(size);
}

Status WindowsFile::ExtendTo(uint64_t end) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t size, Size());
  return size >= end ? Status::Ok() : Truncate(end);
}

Status WindowsFile::ReserveTo(uint64_t end) {
  FILE_STANDARD_INFO now;
  if (!GetFileInformationByHandleEx(handle_.get(), FileStandardInfo, &now, sizeof now)) {
    return WindowsError("FileStandardInfo", GetLastError(), path_);
  }
  // Setting a smaller allocation would cut the file.
  if (static_cast<uint64_t>(now.AllocationSize.QuadPart) >= end) return Status::Ok();
  FILE_ALLOCATION_INFO wanted;
  wanted.AllocationSize.QuadPart = static_cast<LONGLONG>(end);
  if (SetFileInformationByHandle(handle_.get(), FileAllocationInfo, &wanted, sizeof wanted)) {
    return Status::Ok();
  }
  Status status = WindowsError("FileAllocationInfo", GetLastError(), path_).WithOffset(end);
  if (status.sys_errno() != ENOTSUP && status.sys_errno() != ENOSYS) return status;
  return std::move(status).WithCode(Code::kUnsupported);
}

Status WindowsFile::Allocate(uint64_t offset, uint64_t length) {
  if (length == 0) return Status::Ok();
  DURLOG_RETURN_IF_ERROR(ReserveTo(offset + length));
  return ExtendTo(offset + length);
}

Status WindowsFile::ZeroRange(uint64_t, uint64_t) {
  return Status::Error(Code::kUnsupported, "Windows cannot zero a range without writing it")
      .WithPath(path_);
}

Result<std::unique_ptr<Mapping>> WindowsFile::Map(uint64_t offset, size_t length) {
  return WindowsMapping::Create(handle_.get(), path_, offset, length, PAGE_READWRITE);
}

Result<std::unique_ptr<Mapping>> WindowsFile::MapForReading(uint64_t offset, size_t length) {
  return WindowsMapping::Create(handle_.get(), path_, offset, length, PAGE_READONLY);
}

Status WindowsFile::Close() {
  if (!handle_.valid() || CloseHandle(handle_.Release())) return Status::Ok();
  return WindowsError("CloseHandle", GetLastError(), path_);
}

}  // namespace durlog
