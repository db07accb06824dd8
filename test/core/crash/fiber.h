// A stack of its own that can be left and taken up again: how one thread plays several workers.
#ifndef DURLOG_TEST_CORE_CRASH_FIBER_H_
#define DURLOG_TEST_CORE_CRASH_FIBER_H_

#include <functional>
#include <memory>

namespace durlog::crash {

// Where the system has no such thing (fiber_portable.cc), a fiber runs to its end at once.
class Fiber {
 public:
  explicit Fiber(std::function<void()> work);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Goes on until the fiber pauses or is done. Not for one that is done.
  void Resume();
  bool done() const;
  // Back to whoever resumed this fiber, which is the one that is running.
  void Pause();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace durlog::crash

#endif  // DURLOG_TEST_CORE_CRASH_FIBER_H_
