// The CRC-32C of the end of a message, from those of its beginning and of the whole.
#pragma once

#include <cstdint>

namespace durlog {

inline constexpr uint64_t kMaxSpliceBytes = (uint64_t{1} << 28) - 1;

// Returns Crc32c(crc, the last `length` bytes of a message), without the bytes. `before` is the CRC
// of the message without them, and `after` that of the whole message. `length` is at most
// kMaxSpliceBytes. Takes some 100 ns.
uint32_t SpliceCrc32c(uint32_t crc, uint32_t before, uint32_t after, uint64_t length);

}  // namespace durlog
