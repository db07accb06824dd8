// The macro makes stdlib.h declare rand_s(), which uses the system's generator and needs no
// further library.
#define _CRT_RAND_S

#include "platform/windows_random.h"

#include <stdlib.h>

namespace durlog {

uint64_t SystemRandom64() {
  unsigned low = 0, high = 0;
  rand_s(&low);
  rand_s(&high);
  return (uint64_t{high} << 32) | low;
}

}  // namespace durlog
