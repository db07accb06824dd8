// A view of a simulated disk for one of several processes.
#pragma once

#include <memory>
#include <string>

#include "simulated_disk.h"

namespace durlog::crash {

// Locks that are taken through this view belong to process `id`: see SimulatedDisk::Kill().
class SimulatedProcess final : public FileSystem {
 public:
  SimulatedProcess(SimulatedDisk* disk, uint32_t id) : disk_(disk), id_(id) {}

  Result<std::unique_ptr<Directory>> OpenDirectory(const std::string& path, bool create) override {
    return disk_->OpenDirectoryAs(id_, path, create);
  }
  uint64_t NowMs() override { return disk_->NowMs(); }
  uint64_t MonotonicMicros() override { return disk_->MonotonicMicros(); }
  uint64_t Random64() override { return disk_->Random64(); }
  int64_t ProcessId() override { return id_; }
  BootId CurrentBoot() override { return disk_->CurrentBoot(); }

 private:
  SimulatedDisk* const disk_;
  const uint32_t id_;
};

}  // namespace durlog::crash
