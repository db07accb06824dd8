// Replaces src-native/base/shared_word.h: each load and store of a word is a call of a function
// that the explorer defines.
#pragma once

#include <atomic>
#include <cstdint>

namespace durlog {

namespace stand_in {
// If `postponable` is set, a broken member may delay the store.
uint64_t LoadWord(const uint64_t* word);
void StoreWord(uint64_t* word, uint64_t value, bool postponable);
bool SwapWord(uint64_t* word, uint64_t* expected, uint64_t desired);
uint64_t AddToWord(uint64_t* word, uint64_t added);
void RaiseWordTo(uint64_t* word, uint64_t value);
}  // namespace stand_in

class SharedWord {
 public:
  uint64_t load(std::memory_order = std::memory_order_seq_cst) const {
    return stand_in::LoadWord(&value_);
  }
  void store(uint64_t value, std::memory_order order = std::memory_order_seq_cst) {
    stand_in::StoreWord(&value_, value, order == std::memory_order_relaxed);
  }
  bool compare_exchange_strong(uint64_t& expected, uint64_t desired, std::memory_order,
                               std::memory_order) {
    return stand_in::SwapWord(&value_, &expected, desired);
  }
  bool compare_exchange_weak(uint64_t& expected, uint64_t desired, std::memory_order,
                             std::memory_order) {
    return stand_in::SwapWord(&value_, &expected, desired);
  }
  uint64_t fetch_add(uint64_t added, std::memory_order) {
    return stand_in::AddToWord(&value_, added);
  }
  // Used only by waiting readers, and no schedule has any.
  uint64_t exchange(uint64_t value, std::memory_order) {
    const uint64_t before = load();
    store(value);
    return before;
  }

 private:
  friend void RaiseWord(SharedWord& word, uint64_t value);
  uint64_t value_ = 0;
};
static_assert(sizeof(SharedWord) == sizeof(uint64_t), "a SharedWord holds only the word");

// One call: the real RaiseWord() changes nothing before its last compare-and-swap.
inline void RaiseWord(SharedWord& word, uint64_t value) {
  stand_in::RaiseWordTo(&word.value_, value);
}

}  // namespace durlog
