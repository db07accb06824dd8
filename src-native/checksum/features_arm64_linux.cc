#include <sys/auxv.h>

#include "checksum/crc32c_implementations.h"

namespace durlog {
namespace {

// The kernel's bits of AT_HWCAP on arm64, which never change.
constexpr unsigned long kHwcapPmull = 1ul << 4;
constexpr unsigned long kHwcapCrc32 = 1ul << 7;

}  // namespace

Arm64Features DetectArm64Features() {
  const unsigned long features = getauxval(AT_HWCAP);
  return {(features & kHwcapCrc32) != 0, (features & kHwcapPmull) != 0};
}

}  // namespace durlog
