// The CRC32 instruction takes 8 bytes per cycle, but its result has a latency of three cycles. So
// three lanes run in parallel, each over a third of the input, and are combined by carry-less
// multiplication. For long inputs, the multiplier, a unit that is idle otherwise, does part of the
// work: it folds one part of the input while the CRC unit processes three others.

#include <nmmintrin.h>
#include <wmmintrin.h>

#include <algorithm>

#include "base/bytes.h"
#include "checksum/crc32c_implementations.h"
#include "checksum/crc32c_polynomial.h"

#define DURLOG_TARGET __attribute__((target("sse4.2,crc32,pclmul")))

namespace durlog {
namespace {

// For shorter inputs, combining the lanes costs more than they save.
constexpr size_t kLanesFromBytes = 72;

// A step of the mixed loop: three lanes of 3 words by the CRC unit, 8 words by the multiplier.
constexpr size_t kMixedLaneWords = 3;  // as ThreeWords() has them, which compilers do not unroll
constexpr size_t kMixedFoldWords = 8;
constexpr size_t kMixedStepBytes = 8 * (3 * kMixedLaneWords + kMixedFoldWords);
constexpr size_t kMixedFromBytes = 5 * kMixedStepBytes;
// The most steps at a time: 8 KiB. Combining costs little then, and the shift table fits into L1.
constexpr size_t kMaxMixedSteps = 60;

// Inputs that are too short for the mixed loop are processed by the lanes in one pass.
constexpr size_t kMaxLaneWords = kMixedFromBytes / 24;

constexpr size_t kMaxShiftWords =
    std::max(2 * kMaxLaneWords, kMaxMixedSteps * (2 * kMixedLaneWords + kMixedFoldWords));
constexpr auto kWordShifts = MakeWordShifts<kMaxShiftWords>();

DURLOG_TARGET inline uint64_t Word(uint64_t state, const uint8_t* at) {
  return _mm_crc32_u64(state, Load64(at));
}

DURLOG_TARGET inline uint64_t ThreeWords(uint64_t state, const uint8_t* at) {
  return Word(Word(Word(state, at), at + 8), at + 16);
}

// `lane`, moved `words` words towards the front. The caller XORs it into the last word of the
// message.
DURLOG_TARGET inline uint64_t Shift(uint64_t lane, size_t words) {
  const __m128i product =
      _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(lane)),
                           _mm_cvtsi32_si128(static_cast<int>(kWordShifts[words])), 0);
  return static_cast<uint64_t>(_mm_cvtsi128_si64(product));
}

// Processes 24 * words bytes; words >= 1.
DURLOG_TARGET inline uint64_t Lanes(uint64_t state, const uint8_t* at, size_t words) {
  uint64_t a = state, b = 0, c = 0;
  const uint8_t* const b_at = at + 8 * words;
  const uint8_t* const c_at = at + 16 * words;
  const size_t last = 8 * (words - 1);
  for (size_t i = 0; i < last; i += 8) {
    a = Word(a, at + i);
    b = Word(b, b_at + i);
    c = Word(c, c_at + i);
  }
  a = Word(a, at + last);
  b = Word(b, b_at + last);
  return _mm_crc32_u64(c, Load64(c_at + last) ^ Shift(a, 2 * words) ^ Shift(b, words));
}

DURLOG_TARGET inline __m128i Load128(const uint8_t* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

// The constants for FoldBy: the first word of a register is one word further from the end than the
// second.
DURLOG_TARGET inline __m128i FoldConstant(size_t words) {
  return _mm_set_epi64x(kWordShifts[words], kWordShifts[words + 1]);
}

// `folded`, moved by the number of words of the constant and added to `next`.
DURLOG_TARGET inline __m128i FoldBy(__m128i folded, __m128i constant, __m128i next) {
  const __m128i first = _mm_clmulepi64_si128(folded, constant, 0x00);
  const __m128i second = _mm_clmulepi64_si128(folded, constant, 0x11);
  return _mm_xor_si128(_mm_xor_si128(first, second), next);
}

// Processes kMixedStepBytes * steps bytes; steps >= 1.
DURLOG_TARGET inline uint64_t Mixed(uint64_t state, const uint8_t* at, size_t steps) {
  const size_t lane_words = kMixedLaneWords * steps;
  const uint8_t* b_at = at + 8 * lane_words;
  const uint8_t* c_at = at + 16 * lane_words;
  const uint8_t* fold_at = at + 24 * lane_words;
  uint64_t a = state, b = 0, c = 0;
  __m128i w = Load128(fold_at), x = Load128(fold_at + 16);
  __m128i y = Load128(fold_at + 32), z = Load128(fold_at + 48);
  const __m128i by_step = FoldConstant(kMixedFoldWords);
  for (size_t step = 1; step < steps; ++step) {
    fold_at += 8 * kMixedFoldWords;
    w = FoldBy(w, by_step, Load128(fold_at));
    x = FoldBy(x, by_step, Load128(fold_at + 16));
    y = FoldBy(y, by_step, Load128(fold_at + 32));
    z = FoldBy(z, by_step, Load128(fold_at + 48));
    a = ThreeWords(a, at);
    b = ThreeWords(b, b_at);
    c = ThreeWords(c, c_at);
    at += 24;
    b_at += 24;
    c_at += 24;
  }
  a = ThreeWords(a, at);
  b = ThreeWords(b, b_at);
  c = ThreeWords(c, c_at);
  const __m128i by_two = FoldConstant(2), by_four = FoldConstant(4);
  const __m128i folded = FoldBy(FoldBy(w, by_two, x), by_four, FoldBy(y, by_two, z));
  const size_t fold_words = kMixedFoldWords * steps;
  const uint64_t shifted = Shift(a, 2 * lane_words + fold_words) ^
                           Shift(b, lane_words + fold_words) ^ Shift(c, fold_words);
  const uint64_t first = _mm_crc32_u64(0, static_cast<uint64_t>(_mm_cvtsi128_si64(folded)));
  return _mm_crc32_u64(first, static_cast<uint64_t>(_mm_extract_epi64(folded, 1)) ^ shifted);
}

// For inputs that are too short for the mixed loop. `state` is the complement of a CRC.
DURLOG_TARGET inline uint32_t Short(uint64_t state, const uint8_t* at, size_t length) {
  if (length >= kLanesFromBytes) {
    const size_t words = static_cast<uint32_t>(length) / 24;
    state = Lanes(state, at, words);
    at += 24 * words;
    length -= 24 * words;
  }
  for (; length >= 8; at += 8, length -= 8) state = Word(state, at);
  uint32_t narrow = static_cast<uint32_t>(state);
  if ((length & 4) != 0) {
    narrow = _mm_crc32_u32(narrow, Load32(at));
    at += 4;
  }
  for (length &= 3; length != 0; ++at, --length) narrow = _mm_crc32_u8(narrow, *at);
  return ~narrow;
}

// A separate function, so that a short input does not pay for saving the registers that the mixed
// loop needs.
DURLOG_TARGET __attribute__((noinline)) uint32_t Long(uint64_t state, const uint8_t* at,
                                                      size_t length) {
  do {
    const size_t steps = std::min(length / kMixedStepBytes, kMaxMixedSteps);
    state = Mixed(state, at, steps);
    at += kMixedStepBytes * steps;
    length -= kMixedStepBytes * steps;
  } while (length >= kMixedFromBytes);
  return Short(state, at, length);
}

}  // namespace

DURLOG_TARGET uint32_t Crc32cSse42(uint32_t crc, const void* data, size_t length) {
  const uint8_t* at = static_cast<const uint8_t*>(data);
  if (length >= kMixedFromBytes) return Long(~crc, at, length);
  return Short(~crc, at, length);
}

}  // namespace durlog
