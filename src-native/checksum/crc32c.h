// CRC-32C (Castagnoli), the checksum of every record and header; RFC 3720, appendix B.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace durlog {

// Extends `crc` by `length` bytes at `data`. `crc` is the finished CRC of the preceding bytes, or 0
// if there are none, so that calls chain: Crc32c(Crc32c(0, a), b) is the CRC of a followed by b.
// Callable from any thread.
uint32_t Crc32c(uint32_t crc, const void* data, size_t length);

// Copies the bytes and returns the CRC of the copy, continued from `crc`. Another thread may change
// `from` during the call: the CRC always matches the copy.
inline uint32_t CopyAndCrc32c(uint32_t crc, void* to, const void* from, size_t length) {
  // The first-level cache still holds a step when its CRC is taken.
  constexpr size_t kStepBytes = 16 << 10;
  auto* out = static_cast<uint8_t*>(to);
  const auto* in = static_cast<const uint8_t*>(from);
  for (; length > kStepBytes; length -= kStepBytes, in += kStepBytes, out += kStepBytes) {
    std::memcpy(out, in, kStepBytes);
    crc = Crc32c(crc, out, kStepBytes);
  }
  if (length == 0) return crc;  // memcpy takes no null pointer
  std::memcpy(out, in, length);
  return Crc32c(crc, out, length);
}

}  // namespace durlog
