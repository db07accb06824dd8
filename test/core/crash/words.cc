// The words and waits of test/core/stand_in: plain accesses, because all members of a simulated
// session are fibers of one thread.
#include <algorithm>
#include <utility>

#include "base/shared_word.h"
#include "base/yield.h"

namespace durlog::stand_in {

uint64_t LoadWord(const uint64_t* word) { return *word; }

void StoreWord(uint64_t* word, uint64_t value, bool) { *word = value; }

bool SwapWord(uint64_t* word, uint64_t* expected, uint64_t desired) {
  const uint64_t before = std::exchange(*expected, *word);
  if (*word != before) return false;
  *word = desired;
  return true;
}

uint64_t AddToWord(uint64_t* word, uint64_t added) { return std::exchange(*word, *word + added); }

void RaiseWordTo(uint64_t* word, uint64_t value) { *word = std::max(*word, value); }

void WaitForNews() {}

}  // namespace durlog::stand_in
