// The check that the fuzzers use for the core's promises.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace durlog {

inline void Require(bool promise, int line = __builtin_LINE()) {
  if (promise) return;
  std::fprintf(stderr, "the promise of line %d is broken\n", line);
  std::abort();
}

}  // namespace durlog
