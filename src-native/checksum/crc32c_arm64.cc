// As crc32c_sse42.cc, for ARMv8: three lanes hide the latency of the CRC instruction and are
// combined by carry-less multiplication. Processors with the CRC extension but without PMULL (a
// Raspberry Pi 4) run one lane.

#include <arm_acle.h>
#include <arm_neon.h>

#include <algorithm>

#include "base/bytes.h"
#include "checksum/crc32c_implementations.h"
#include "checksum/crc32c_polynomial.h"

#define DURLOG_TARGET_CRC __attribute__((target("+crc")))
#define DURLOG_TARGET_PMULL __attribute__((target("+crc+crypto")))

namespace durlog {
namespace {

// For shorter inputs, combining the lanes costs more than they save.
constexpr size_t kLanesFromBytes = 72;
constexpr size_t kMaxLaneWords = 256;
constexpr auto kWordShifts = MakeWordShifts<2 * kMaxLaneWords>();

// `state` and the result are complements of CRCs.
DURLOG_TARGET_CRC inline uint32_t OneLane(uint32_t state, const uint8_t* at, size_t length) {
  for (; length >= 8; at += 8, length -= 8) state = __crc32cd(state, Load64(at));
  if ((length & 4) != 0) {
    state = __crc32cw(state, Load32(at));
    at += 4;
  }
  for (length &= 3; length != 0; ++at, --length) state = __crc32cb(state, *at);
  return state;
}

// `lane`, moved `words` words towards the front. The caller XORs it into the last word of the
// message.
DURLOG_TARGET_PMULL inline uint64_t Shift(uint32_t lane, size_t words) {
  return vgetq_lane_u64(vreinterpretq_u64_p128(vmull_p64(lane, kWordShifts[words])), 0);
}

// Processes 24 * words bytes; words >= 1.
DURLOG_TARGET_PMULL inline uint32_t Lanes(uint32_t state, const uint8_t* at, size_t words) {
  uint32_t a = state, b = 0, c = 0;
  const uint8_t* const b_at = at + 8 * words;
  const uint8_t* const c_at = at + 16 * words;
  const size_t last = 8 * (words - 1);
  for (size_t i = 0; i < last; i += 8) {
    a = __crc32cd(a, Load64(at + i));
    b = __crc32cd(b, Load64(b_at + i));
    c = __crc32cd(c, Load64(c_at + i));
  }
  a = __crc32cd(a, Load64(at + last));
  b = __crc32cd(b, Load64(b_at + last));
  return __crc32cd(c, Load64(c_at + last) ^ Shift(a, 2 * words) ^ Shift(b, words));
}

}  // namespace

DURLOG_TARGET_CRC uint32_t Crc32cArm64(uint32_t crc, const void* data, size_t length) {
  return ~OneLane(~crc, static_cast<const uint8_t*>(data), length);
}

DURLOG_TARGET_PMULL uint32_t Crc32cArm64Pmull(uint32_t crc, const void* data, size_t length) {
  const uint8_t* at = static_cast<const uint8_t*>(data);
  uint32_t state = ~crc;
  while (length >= kLanesFromBytes) {
    const size_t words = std::min(length / 24, kMaxLaneWords);
    state = Lanes(state, at, words);
    at += 24 * words;
    length -= 24 * words;
  }
  return ~OneLane(state, at, length);
}

}  // namespace durlog
