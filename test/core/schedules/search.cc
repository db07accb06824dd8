#include "search.h"

#include <utility>

namespace durlog::schedules {

bool StateSet::Insert(uint64_t state) {
  if (state == 0) state = 1;
  const size_t mask = slots_.size() - 1;
  size_t at = static_cast<size_t>(state) & mask;
  while (slots_[at] != 0) {
    if (slots_[at] == state) return false;
    at = (at + 1) & mask;
  }
  slots_[at] = state;
  if (++size_ > slots_.size() / 2) Grow();
  return true;
}

void StateSet::Grow() {
  const std::vector<uint64_t> before = std::exchange(slots_, std::vector<uint64_t>());
  slots_.resize(before.size() * 2);
  size_ = 0;
  for (const uint64_t state : before) {
    if (state != 0) Insert(state);
  }
}

void StateSet::Clear() {
  slots_.assign(kFirstSlots, 0);
  size_ = 0;
}

bool Search::BeginRun() {
  depth_ = 0;
  if (runs_++ == 0 || std::exchange(repeats_, false)) return true;
  while (!path_.empty() && path_.back().taken + 1 == path_.back().choices.count) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().taken;
  return true;
}

std::optional<Choice> Search::Next(uint64_t state, const Choices& choices) {
  is_new_ = depth_ == path_.size();
  if (is_new_) {
    if (!states_.Insert(state)) return std::nullopt;
    path_.push_back(Decision{choices, 0});
  }
  const Decision& decision = path_[depth_++];
  return decision.choices.list[decision.taken];
}

void Search::StartAnew() {
  path_.clear();
  states_.Clear();
  runs_ = 0;
}

void Search::Repeat() { repeats_ = true; }

}  // namespace durlog::schedules
