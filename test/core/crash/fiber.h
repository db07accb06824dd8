// A separate stack that can be suspended and resumed, so that one thread can run several workers.
#pragma once

#include <functional>
#include <memory>

namespace durlog::crash {

// If the system has no such stacks (fiber_portable.cc), a fiber runs to its end at once.
class Fiber {
 public:
  explicit Fiber(std::function<void()> work);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the fiber until it pauses or is done. The fiber must not be done yet.
  void Resume();
  bool done() const;
  // Returns to the caller of Resume(). This fiber must be the one that is running.
  void Pause();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace durlog::crash
