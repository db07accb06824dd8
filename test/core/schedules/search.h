// Depth-first search over all sequences of events. Each run starts from the beginning.
//
// A member's next step depends only on the values that it has seen so far. So a state consists of
// all values that each member has seen, and of the current words, names and locks. The runs that
// follow a state are tried once. States are compared by 64-bit hashes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace durlog::schedules {

// A member takes the next turn, or dies before it.
struct Choice {
  uint8_t member = 0;
  bool dies = false;
};

struct Choices {
  static constexpr size_t kMost = 8;
  std::array<Choice, kMost> list;
  size_t count = 0;

  void Add(Choice choice) { list[count++] = choice; }
};

// A set of hashes; 0 is not a valid hash.
class StateSet {
 public:
  StateSet() : slots_(kFirstSlots) {}
  // Returns false if the state was in the set already.
  bool Insert(uint64_t state);
  uint64_t size() const { return size_; }
  void Clear();

 private:
  static constexpr size_t kFirstSlots = size_t{1} << 16;  // a power of two
  void Grow();

  std::vector<uint64_t> slots_;
  uint64_t size_ = 0;
};

class Search {
 public:
  // Call before each run. Returns false once every run has been made.
  bool BeginRun();
  // Returns the next choice in `state`, or nullopt if every run that follows has been tried.
  std::optional<Choice> Next(uint64_t state, const Choices& choices);
  // Whether the last state passed to Next() was new.
  bool is_new() const { return is_new_; }
  void StartAnew();
  // Makes the next run repeat the last one.
  void Repeat();

  uint64_t states() const { return states_.size(); }
  uint64_t runs() const { return runs_; }

 private:
  struct Decision {
    Choices choices;
    size_t taken = 0;
  };

  std::vector<Decision> path_;
  size_t depth_ = 0;  // decisions of this run so far
  bool repeats_ = false;
  bool is_new_ = false;
  uint64_t runs_ = 0;
  StateSet states_;
};

}  // namespace durlog::schedules
