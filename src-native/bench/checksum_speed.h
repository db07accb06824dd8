// Measures the speed of the checksum, without Node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace durlog::bench {

struct ChecksumSpeed {
  std::string implementation;
  double gigabytes_per_second = 0;
};

// Measures each implementation that this processor can run, the quickest first, for about `millis`
// each. The blocks of `block_bytes` are in the processor's cache.
std::vector<ChecksumSpeed> MeasureChecksums(uint64_t block_bytes, uint32_t millis);

}  // namespace durlog::bench
