// A shared mapping of a file under the fault guard.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "platform/file_system.h"
#include "platform/posix_fault_guard.h"
#include "platform/posix_fd.h"

namespace durlog {

class PosixMapping final : public Mapping {
 public:
  // Maps [offset, offset + length) of the file open as `fd`. A map for writing keeps a share of the
  // descriptor, and takes no new one: mapping must not fail in a process that has no descriptors.
  // `protection` is PROT_READ, with or without PROT_WRITE.
  static Result<std::unique_ptr<Mapping>> Create(const SharedFd& fd, const std::string& path,
                                                 uint64_t offset, size_t length, int protection);
  PosixMapping(const PosixMapping&) = delete;
  PosixMapping& operator=(const PosixMapping&) = delete;
  ~PosixMapping() override;

  uint8_t* data() override { return data_; }
  size_t size() const override { return size_; }
  void SetReadahead(bool wanted) override;
  void DropPages(size_t offset, size_t length) override;
  void Prefetch(size_t offset, size_t length) override;
  Status Populate(size_t offset, size_t length) override;
  Status Sync(size_t offset, size_t length) override;
  bool WaitOn(size_t offset, uint32_t value, uint64_t micros) override;
  void WakeOn(size_t offset) override;

 private:
  PosixMapping(uint8_t* data, size_t size, uint64_t file_offset, FaultGuard guard,
               SharedFd for_sync, std::string path)
      : Mapping(guard.flag()),
        data_(data),
        size_(size),
        file_offset_(file_offset),
        guard_(std::move(guard)),
        for_sync_(std::move(for_sync)),
        path_(std::move(path)) {}

  Status CheckRange(size_t offset, size_t length) const;

  uint8_t* const data_;
  const size_t size_;
  const uint64_t file_offset_;
  FaultGuard guard_;
  const SharedFd for_sync_;  // see FinishSync(); invalid if the map is for reading
  const std::string path_;
};

}  // namespace durlog
