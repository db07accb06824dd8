// How fast the checksum of every record is, without Node in between.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace durlog::bench {

struct ChecksumSpeed {
  std::string implementation;
  double gigabytes_per_second = 0;
};

// Each implementation that this processor can run, the quickest first, over blocks of
// `block_bytes` from the cache for about `millis` each.
std::vector<ChecksumSpeed> MeasureChecksums(uint64_t block_bytes, uint32_t millis);

}  // namespace durlog::bench
