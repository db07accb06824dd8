// A view of a file for loads only. Faults: see windows_mapping.h.
#pragma once

#include <windows.h>

#include <memory>
#include <string>

#include "platform/file_system.h"

namespace durlog {

class WindowsReadOnlyMapping final : public ReadOnlyMapping {
 public:
  static Result<std::unique_ptr<ReadOnlyMapping>> Create(HANDLE file, const std::string& path,
                                                         uint64_t offset, size_t length);
  WindowsReadOnlyMapping(const WindowsReadOnlyMapping&) = delete;
  WindowsReadOnlyMapping& operator=(const WindowsReadOnlyMapping&) = delete;
  ~WindowsReadOnlyMapping() override;

  const uint8_t* data() const override { return data_; }
  bool faulted() const override { return false; }

 private:
  explicit WindowsReadOnlyMapping(const uint8_t* data) : data_(data) {}

  const uint8_t* const data_;
};

}  // namespace durlog
