#include <cpuid.h>

#include "checksum/crc32c_implementations.h"

namespace durlog {
namespace {

bool HasSse42AndPclmul() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return false;
  constexpr unsigned kNeeded = bit_SSE4_2 | bit_PCLMUL;
  return (ecx & kNeeded) == kNeeded;
}

}  // namespace

Crc32cImplementationList Crc32cImplementations() {
  static const Crc32cImplementation list[] = {
      {"sse42", &Crc32cSse42, HasSse42AndPclmul()},
      {"table", &Crc32cTable, true},
  };
  return {list, sizeof list / sizeof list[0]};
}

}  // namespace durlog
