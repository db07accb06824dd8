#include "platform/windows_read_only_mapping.h"

#include "platform/windows_error.h"
#include "platform/windows_handle.h"

namespace durlog {

Result<std::unique_ptr<ReadOnlyMapping>> WindowsReadOnlyMapping::Create(HANDLE file,
                                                                        const std::string& path,
                                                                        uint64_t offset,
                                                                        size_t length) {
  const ScopedHandle section(CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr));
  if (!section.valid()) return WindowsError("CreateFileMappingW", GetLastError(), path);
  // The view keeps the section alive.
  const void* view = MapViewOfFile(section.get(), FILE_MAP_READ, static_cast<DWORD>(offset >> 32),
                                   static_cast<DWORD>(offset), length);
  if (view == nullptr) {
    return WindowsError("MapViewOfFile", GetLastError(), path).WithOffset(offset);
  }
  return std::unique_ptr<ReadOnlyMapping>(
      new WindowsReadOnlyMapping(static_cast<const uint8_t*>(view)));
}

WindowsReadOnlyMapping::~WindowsReadOnlyMapping() { UnmapViewOfFile(data_); }

}  // namespace durlog
