// A mapped view of a file.
//
// Faults: Windows refuses to cut a file while a view of it exists (ERROR_USER_MAPPED_FILE). So a
// store faults only if the device or a network share fails to provide a page. The store then raises
// the exception EXCEPTION_IN_PAGE_ERROR. A vectored handler could catch it, but could not replace
// the page, because part of a view cannot be mapped again; the store would fault again. So the
// fault ends the process, faulted() is always false, and the probe sets survives_map_faults to
// false, so that the layers above write to the file instead of storing into a map. If Populate()
// meets such a page, it returns an error.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "platform/file_system.h"
#include "platform/windows_handle.h"

namespace durlog {

class WindowsMapping final : public Mapping {
 public:
  // `protection` is PAGE_READONLY or PAGE_READWRITE.
  static Result<std::unique_ptr<Mapping>> Create(HANDLE file, const std::string& path,
                                                 uint64_t offset, size_t length, DWORD protection);
  WindowsMapping(const WindowsMapping&) = delete;
  WindowsMapping& operator=(const WindowsMapping&) = delete;
  ~WindowsMapping() override;

  uint8_t* data() override { return data_; }
  size_t size() const override { return size_; }
  Status Populate(size_t offset, size_t length) override;
  Status Sync(size_t offset, size_t length) override;

 private:
  WindowsMapping(ScopedHandle file, uint8_t* data, size_t size, uint64_t file_offset,
                 std::string path)
      : file_(std::move(file)),
        data_(data),
        size_(size),
        file_offset_(file_offset),
        path_(std::move(path)) {}

  Status CheckRange(size_t offset, size_t length) const;

  // A duplicate, as flushing a view does not flush the device; invalid if the map is for reading.
  const ScopedHandle file_;
  uint8_t* const data_;
  const size_t size_;
  const uint64_t file_offset_;
  const std::string path_;
};

}  // namespace durlog
