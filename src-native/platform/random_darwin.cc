#include <stdlib.h>

#include "platform/posix_random.h"

namespace durlog {

uint64_t SystemRandom64() {
  uint64_t value;
  arc4random_buf(&value, sizeof value);
  return value;
}

}  // namespace durlog
