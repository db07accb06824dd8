// Checksums of any ranges of a file, for the price of reading the file once.
#pragma once

#include <cstdint>
#include <vector>

#include "platform/file_system.h"

namespace durlog {

// A search checks many byte sequences that look like frames. In a hostile file every one of them
// can claim the rest of the file, so computing each checksum from the bytes would take time that
// grows with the square of the file's length.
class RangeChecksums {
 public:
  // Of ranges within [begin, end). Reads nothing yet.
  RangeChecksums(File& file, uint64_t begin, uint64_t end)
      : file_(file), begin_(begin), end_(end) {}

  // Returns Crc32c(crc, the bytes [from, to)). The first call reads the whole range, and each call
  // at most kStepBytes for each of the two ends.
  Result<uint32_t> Continue(uint32_t crc, uint64_t from, uint64_t to);

 private:
  // 8 MiB of checksums for a segment of 1 GiB.
  static constexpr uint64_t kStepBytes = 512;

  // The step that was read last, as the next range is often near.
  struct Step {
    uint64_t begin = UINT64_MAX;
    uint8_t bytes[kStepBytes];
  };

  Status ReadAll();
  Result<uint32_t> Until(uint64_t offset, Step* step);

  File& file_;
  const uint64_t begin_;
  const uint64_t end_;
  std::vector<uint32_t> checksums_;  // [i]: of the first i steps
  Step from_;
  Step to_;
};

}  // namespace durlog
