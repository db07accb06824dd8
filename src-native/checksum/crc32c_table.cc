#include <array>

#include "base/bytes.h"
#include "checksum/crc32c_implementations.h"
#include "checksum/crc32c_polynomial.h"

namespace durlog {
namespace {

using Table = std::array<std::array<uint32_t, 256>, 8>;

// Table n gives the CRC of a byte that n zero bytes follow.
constexpr Table MakeTable() {
  Table table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = MultiplyByX(crc);
    table[0][byte] = crc;
  }
  for (size_t n = 1; n < table.size(); ++n) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = table[n - 1][byte];
      table[n][byte] = (before >> 8) ^ table[0][before & 0xff];
    }
  }
  return table;
}

constexpr Table kTable = MakeTable();

}  // namespace

uint32_t Crc32cTable(uint32_t crc, const void* data, size_t length) {
  const uint8_t* at = static_cast<const uint8_t*>(data);
  uint32_t state = ~crc;
  for (; length >= 8; at += 8, length -= 8) {
    const uint32_t low = Load32(at) ^ state;
    const uint32_t high = Load32(at + 4);
    state = kTable[7][low & 0xff] ^ kTable[6][(low >> 8) & 0xff] ^ kTable[5][(low >> 16) & 0xff] ^
            kTable[4][low >> 24] ^ kTable[3][high & 0xff] ^ kTable[2][(high >> 8) & 0xff] ^
            kTable[1][(high >> 16) & 0xff] ^ kTable[0][high >> 24];
  }
  for (; length != 0; ++at, --length) state = (state >> 8) ^ kTable[0][(state ^ *at) & 0xff];
  return ~state;
}

}  // namespace durlog
