// The file system of Windows.
#pragma once

#include <memory>
#include <string>

#include "platform/file_system.h"
#include "platform/steady_clock.h"

namespace durlog {

class WindowsFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<Directory>> OpenDirectory(const std::string& path, bool create) override;
  uint64_t NowMs() override;
  uint64_t MonotonicMicros() override { return SteadyMicros(); }
  uint64_t Random64() override;
};

}  // namespace durlog
