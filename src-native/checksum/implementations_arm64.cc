#include "checksum/crc32c_implementations.h"

namespace durlog {

Crc32cImplementationList Crc32cImplementations() {
  static const Arm64Features features = DetectArm64Features();
  static const Crc32cImplementation list[] = {
      {"arm64-pmull", &Crc32cArm64Pmull, features.crc32 && features.pmull},
      {"arm64", &Crc32cArm64, features.crc32},
      {"table", &Crc32cTable, true},
  };
  return {list, sizeof list / sizeof list[0]};
}

}  // namespace durlog
