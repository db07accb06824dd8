// The only source of chance in the crash explorer: one seed, one course of events.
#pragma once

#include <cstdint>

namespace durlog::crash {

inline uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(Mix(seed)) {}

  uint64_t Next() { return Mix(state_++); }
  // [0, bound); bound > 0.
  uint64_t Below(uint64_t bound) { return Next() % bound; }
  // [low, high].
  uint64_t Between(uint64_t low, uint64_t high) { return low + Below(high - low + 1); }
  bool Percent(uint32_t chance) { return Below(100) < chance; }
  bool OneIn(uint64_t count) { return Below(count) == 0; }

 private:
  uint64_t state_;
};

}  // namespace durlog::crash
