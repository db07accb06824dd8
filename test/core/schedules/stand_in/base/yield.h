// Replaces src-native/base/yield.h: a waiting member gets its next turn after a change that it can
// see.
#pragma once

#include <cstdint>

namespace durlog {

namespace schedules {
void WaitForNews();  // stand_in.cc
}

inline void SpinThread() { schedules::WaitForNews(); }
inline void YieldThread() { schedules::WaitForNews(); }
inline void SleepMicros(uint64_t) { schedules::WaitForNews(); }

}  // namespace durlog
