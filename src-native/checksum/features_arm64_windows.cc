#include <windows.h>

#include "checksum/crc32c_implementations.h"

namespace durlog {

Arm64Features DetectArm64Features() {
  return {IsProcessorFeaturePresent(PF_ARM_V8_CRC32_INSTRUCTIONS_AVAILABLE) != 0,
          IsProcessorFeaturePresent(PF_ARM_V8_CRYPTO_INSTRUCTIONS_AVAILABLE) != 0};
}

}  // namespace durlog
