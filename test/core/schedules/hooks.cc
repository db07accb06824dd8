// The words and waits of test/core/stand_in: each is a turn or, while no turns are taken, the
// access. A waiting member gets its next turn after a change that it can see.
#include "base/job.h"
#include "base/shared_word.h"
#include "base/yield.h"
#include "turns.h"

namespace durlog::stand_in {

using schedules::Turns;

uint64_t LoadWord(const uint64_t* word) {
  return Turns::Current() == nullptr ? *word : Turns::Current()->Load(word);
}

void StoreWord(uint64_t* word, uint64_t value, bool postponable) {
  if (Turns::Current() == nullptr) {
    *word = value;
  } else {
    Turns::Current()->Store(word, value, postponable);
  }
}

bool SwapWord(uint64_t* word, uint64_t* expected, uint64_t desired) {
  if (Turns::Current() != nullptr) return Turns::Current()->Swap(word, expected, desired);
  const bool swaps = *word == *expected;
  *expected = *word;
  if (swaps) *word = desired;
  return swaps;
}

uint64_t AddToWord(uint64_t* word, uint64_t added) {
  if (Turns::Current() != nullptr) return Turns::Current()->Add(word, added);
  const uint64_t before = *word;
  *word = before + added;
  return before;
}

void RaiseWordTo(uint64_t* word, uint64_t value) {
  if (Turns::Current() != nullptr) {
    Turns::Current()->Raise(word, value);
  } else if (*word < value) {
    *word = value;
  }
}

void WaitForNews() {
  if (Turns::Current() != nullptr) Turns::Current()->WaitForNews();
}

void LetOthersRun() { WaitForNews(); }

}  // namespace durlog::stand_in
