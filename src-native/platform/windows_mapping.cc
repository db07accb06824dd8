#include "platform/windows_mapping.h"

#include "base/bytes.h"
#include "platform/windows_error.h"
#include "platform/windows_file.h"

namespace durlog {
namespace {

// The smallest page size of all processors that Windows supports. If pages are larger, each is
// touched several times, which is harmless.
constexpr size_t kPageBytes = 4096;

DWORD Low(uint64_t value) { return static_cast<DWORD>(value); }
DWORD High(uint64_t value) { return static_cast<DWORD>(value >> 32); }

// The alignment of views, which is more than a page.
uint32_t MapAlignment() {
  SYSTEM_INFO system;
  GetSystemInfo(&system);
  return system.dwAllocationGranularity;
}

}  // namespace

Result<std::unique_ptr<Mapping>> WindowsMapping::Create(HANDLE file, const std::string& path,
                                                        uint64_t offset, size_t length,
                                                        DWORD protection) {
  if (length == 0 || offset % MapAlignment() != 0) {
    return Status::Error(Code::kInvalidArgument, "a map needs a length and an aligned offset")
        .WithPath(path)
        .WithOffset(offset);
  }
  const bool writable = protection == PAGE_READWRITE;
  ScopedHandle copy;
  if (writable) {
    DURLOG_ASSIGN_OR_RETURN(copy, DuplicateOf(file, path));
  }
  // Size 0 is the file's own size: a larger one would make the file grow.
  const ScopedHandle section(CreateFileMappingW(file, nullptr, protection, 0, 0, nullptr));
  if (!section.valid()) return WindowsError("CreateFileMappingW", GetLastError(), path);
  // The view keeps the section alive.
  const DWORD access = writable ? FILE_MAP_READ | FILE_MAP_WRITE : FILE_MAP_READ;
  void* view = MapViewOfFile(section.get(), access, High(offset), Low(offset), length);
  if (view == nullptr) {
    return WindowsError("MapViewOfFile", GetLastError(), path).WithOffset(offset);
  }
  return std::unique_ptr<Mapping>(
      new WindowsMapping(std::move(copy), static_cast<uint8_t*>(view), length, offset, path));
}

WindowsMapping::~WindowsMapping() { UnmapViewOfFile(data_); }

Status WindowsMapping::CheckRange(size_t offset, size_t length) const {
  if (offset <= size_ && length <= size_ - offset) return Status::Ok();
  return Status::Error(Code::kInvalidArgument, "the range lies outside of the map")
      .WithPath(path_)
      .WithOffset(file_offset_ + offset);
}

Status WindowsMapping::Populate(size_t offset, size_t length) {
  DURLOG_RETURN_IF_ERROR(CheckRange(offset, length));
  // Touches the page through the kernel, which returns an error if a load would raise an exception.
  // The call only reads, so that no store by another thread is lost.
  const size_t end = offset + length;
  for (size_t at = offset; at < end;
       at = static_cast<size_t>(AlignDown(at, kPageBytes)) + kPageBytes) {
    uint8_t byte;
    if (!ReadProcessMemory(GetCurrentProcess(), data_ + at, &byte, 1, nullptr)) {
      return WindowsError("ReadProcessMemory", GetLastError(), path_).WithOffset(file_offset_ + at);
    }
  }
  return Status::Ok();
}

Status WindowsMapping::Sync(size_t offset, size_t length) {
  DURLOG_RETURN_IF_ERROR(CheckRange(offset, length));
  if (length == 0) return Status::Ok();
  // Neither call is retried: see posix_sync.h.
  if (!FlushViewOfFile(data_ + offset, length)) {
    return WindowsSyncError("FlushViewOfFile", GetLastError(), path_)
        .WithOffset(file_offset_ + offset);
  }
  if (FlushFileBuffers(file_.get())) return Status::Ok();
  return WindowsSyncError("FlushFileBuffers", GetLastError(), path_)
      .WithOffset(file_offset_ + offset);
}

}  // namespace durlog
