#include "bench/checksum_speed.h"

#include "bench/clock.h"
#include "checksum/crc32c_implementations.h"

namespace durlog::bench {

namespace {

constexpr uint64_t kBytesBetweenClocks = 1u << 20;

double Measure(Crc32cFunction function, const std::vector<uint8_t>& block, uint32_t millis) {
  const uint64_t rounds = 1 + kBytesBetweenClocks / block.size();
  const uint64_t start = NowNanos();
  const uint64_t limit = uint64_t{millis} * 1000000;
  uint64_t bytes = 0;
  uint64_t nanos = 0;
  // Each result is the seed of the next call and the last is volatile, so that the compiler cannot
  // remove a call.
  uint32_t crc = 0;
  do {
    for (uint64_t i = 0; i < rounds; ++i) crc = function(crc, block.data(), block.size());
    bytes += rounds * block.size();
    nanos = NowNanos() - start;
  } while (nanos < limit);
  const volatile uint32_t kept = crc;
  static_cast<void>(kept);
  return static_cast<double>(bytes) / static_cast<double>(nanos);
}

}  // namespace

std::vector<ChecksumSpeed> MeasureChecksums(uint64_t block_bytes, uint32_t millis) {
  const std::vector<uint8_t> block(block_bytes, 0xA5);
  const Crc32cImplementationList list = Crc32cImplementations();
  std::vector<ChecksumSpeed> speeds;
  for (size_t i = 0; i < list.count; ++i) {
    const Crc32cImplementation& item = list.items[i];
    if (item.supported) speeds.push_back({item.name, Measure(item.function, block, millis)});
  }
  return speeds;
}

}  // namespace durlog::bench
