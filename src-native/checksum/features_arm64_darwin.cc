#include "checksum/crc32c_implementations.h"

namespace durlog {

// Every Mac with an arm64 processor has both.
Arm64Features DetectArm64Features() { return {true, true}; }

}  // namespace durlog
