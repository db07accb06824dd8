// A thread, where std::thread would throw if the system has none left.
#ifndef DURLOG_PLATFORM_THREAD_H_
#define DURLOG_PLATFORM_THREAD_H_

#include <functional>
#include <memory>

#include "base/status.h"

namespace durlog {

class Thread {
 public:
  // Runs `work` on a thread of its own, which takes no signals.
  static Result<std::unique_ptr<Thread>> Start(std::function<void()> work);
  // Waits until `work` has returned.
  virtual ~Thread() = default;
};

}  // namespace durlog

#endif  // DURLOG_PLATFORM_THREAD_H_
