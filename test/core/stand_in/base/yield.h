// Replaces src-native/base/yield.h: each wait for another thread or process is a call of a function
// that the explorer defines.
#pragma once

#include <cstdint>

namespace durlog {

namespace stand_in {
void WaitForNews();
}

inline void SpinThread() { stand_in::WaitForNews(); }
inline void YieldThread() { stand_in::WaitForNews(); }
inline void SleepMicros(uint64_t) { stand_in::WaitForNews(); }

}  // namespace durlog
