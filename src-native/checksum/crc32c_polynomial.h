// Arithmetic modulo the Castagnoli polynomial, done by the compiler.
//
// Values are bit-reflected, as the CRC is: the top bit is the coefficient of x^0, the lowest of
// x^31.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace durlog {

constexpr uint32_t kCrc32cPolynomial = 0x82f63b78;

constexpr uint32_t MultiplyByX(uint32_t value) {
  return (value >> 1) ^ ((value & 1) != 0 ? kCrc32cPolynomial : 0);
}

// Entry m moves a value m words of 64 bits towards the front of a message: x^(64 m - 33).
//
// Why 33: the carry-less product of two reflected values, read as the next 64-bit word of a
// message, is the product times x, and the CRC instruction multiplies its word by x^32. So
// CRC(0, clmul(value, entry m)) is value * x^(64 m). The same entries are used to fold a 128-bit
// register: see FoldBy() in crc32c_sse42.cc.
template <size_t kWords>
constexpr std::array<uint32_t, kWords + 1> MakeWordShifts() {
  std::array<uint32_t, kWords + 1> shifts{};
  uint32_t power = 1;  // x^31, for m = 1
  for (size_t m = 1; m <= kWords; ++m) {
    shifts[m] = power;
    for (int bit = 0; bit < 64; ++bit) power = MultiplyByX(power);
  }
  return shifts;
}

}  // namespace durlog
