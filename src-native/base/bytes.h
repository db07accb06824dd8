// Little-endian loads and stores, alignment, and the read-only byte span.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace durlog {

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "durlog's format is little-endian and its loads are plain copies: port bytes.h first"
#endif

struct Bytes {
  const uint8_t* data = nullptr;
  size_t size = 0;
};

// The payload of a record. Its head may be elsewhere in memory than the rest, or empty; they are
// joined when the frame is stored.
struct PayloadParts {
  PayloadParts() = default;
  PayloadParts(Bytes whole) : rest(whole) {}
  PayloadParts(Bytes its_head, Bytes its_rest) : head(its_head), rest(its_rest) {}

  size_t size() const { return head.size + rest.size; }

  Bytes head;
  Bytes rest;
};

inline uint32_t Load32(const void* from) {
  uint32_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
inline uint64_t Load64(const void* from) {
  uint64_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
inline void Store32(void* to, uint32_t value) { std::memcpy(to, &value, sizeof value); }
inline void Store64(void* to, uint64_t value) { std::memcpy(to, &value, sizeof value); }

// `alignment` is a power of two.
constexpr uint64_t AlignDown(uint64_t value, uint64_t alignment) {
  return value & ~(alignment - 1);
}
constexpr uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return AlignDown(value + alignment - 1, alignment);
}

// Eight words at a time, which compilers turn into vectors.
inline bool IsAllZero(const uint8_t* from, size_t size) {
  constexpr size_t kStep = 8 * sizeof(uint64_t);
  for (; size >= kStep; from += kStep, size -= kStep) {
    uint64_t words[8];
    std::memcpy(words, from, kStep);
    if ((words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] | words[7]) !=
        0) {
      return false;
    }
  }
  for (; size > 0; ++from, --size) {
    if (*from != 0) return false;
  }
  return true;
}

}  // namespace durlog
