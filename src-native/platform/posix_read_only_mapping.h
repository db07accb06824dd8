// A shared mapping for loads only, under the fault guard.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "platform/file_system.h"
#include "platform/posix_fault_guard.h"

namespace durlog {

class PosixReadOnlyMapping final : public ReadOnlyMapping {
 public:
  // Maps [offset, offset + length) of the file open as `fd`, which may be closed afterwards.
  static Result<std::unique_ptr<ReadOnlyMapping>> Create(int fd, const std::string& path,
                                                         uint64_t offset, size_t length);
  PosixReadOnlyMapping(const PosixReadOnlyMapping&) = delete;
  PosixReadOnlyMapping& operator=(const PosixReadOnlyMapping&) = delete;
  ~PosixReadOnlyMapping() override;

  const uint8_t* data() const override { return static_cast<const uint8_t*>(start_); }
  bool faulted() const override { return guard_.faulted(); }

 private:
  PosixReadOnlyMapping(void* start, size_t size, FaultGuard guard)
      : start_(start), size_(size), guard_(std::move(guard)) {}

  void* const start_;
  const size_t size_;
  FaultGuard guard_;
};

}  // namespace durlog
