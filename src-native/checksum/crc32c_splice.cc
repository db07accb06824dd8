#include "checksum/crc32c_splice.h"

#include <array>

#include "checksum/crc32c_polynomial.h"

namespace durlog {
namespace {

constexpr size_t kDigits = 7;
constexpr size_t kDigitBits = 4;
constexpr size_t kDigitValues = 1 << kDigitBits;
constexpr uint32_t kOne = 0x80000000;  // x^0
static_assert(uint64_t{1} << (kDigits * kDigitBits) == kMaxSpliceBytes + 1, "every length fits");

constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = kOne; a != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    a &= ~bit;
    b = MultiplyByX(b);
  }
  return product;
}

// Entry [digit][value] is x^(8 * value * 16^digit): it moves a CRC past that many bytes.
constexpr std::array<std::array<uint32_t, kDigitValues>, kDigits> MakeByteShifts() {
  std::array<std::array<uint32_t, kDigitValues>, kDigits> shifts{};
  uint32_t base = kOne;
  for (int bit = 0; bit < 8; ++bit) base = MultiplyByX(base);
  for (size_t digit = 0; digit < kDigits; ++digit) {
    uint32_t power = kOne;
    for (size_t value = 0; value < kDigitValues; ++value) {
      shifts[digit][value] = power;
      power = Multiply(power, base);
    }
    base = power;
  }
  return shifts;
}

constexpr auto kByteShifts = MakeByteShifts();

}  // namespace

// A CRC is linear: two messages of the same length with the same end have CRCs that differ by the
// difference before the end, moved past it. The inversions of CRC-32C cancel out.
uint32_t SpliceCrc32c(uint32_t crc, uint32_t before, uint32_t after, uint64_t length) {
  uint32_t difference = crc ^ before;
  for (size_t digit = 0; digit < kDigits; ++digit) {
    const size_t value = (length >> (digit * kDigitBits)) % kDigitValues;
    if (value != 0) difference = Multiply(kByteShifts[digit][value], difference);
  }
  return after ^ difference;
}

}  // namespace durlog
