// The events that led to a violation: those of a session, and of the sessions that it continues.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace durlog::crash {

class Trail {
 public:
  // The session continues the one of `outer`, which outlives it; null for the first session.
  explicit Trail(const Trail* outer)
      : outer_(outer), depth_(outer == nullptr ? 0 : outer->depth_ + 1) {}

  // How many sessions it continues.
  int depth() const { return depth_; }
  void Note(std::string event) { events_.push_back(std::move(event)); }
  // The events of all sessions, from the first one on.
  std::vector<std::string> Whole() const {
    std::vector<std::string> whole;
    if (outer_ != nullptr) whole = outer_->Whole();
    whole.push_back("session " + std::to_string(depth_));
    for (const std::string& event : events_) whole.push_back("  " + event);
    return whole;
  }

 private:
  const Trail* const outer_;
  const int depth_;
  std::vector<std::string> events_;
};

}  // namespace durlog::crash
