// A thread. Unlike std::thread, it reports an error if the system cannot create one.
#ifndef DURLOG_PLATFORM_THREAD_H_
#define DURLOG_PLATFORM_THREAD_H_

#include <functional>
#include <memory>

#include "base/status.h"

namespace durlog {

class Thread {
 public:
  // Runs `work` on a new thread that has every signal blocked.
  static Result<std::unique_ptr<Thread>> Start(std::function<void()> work);
  // Waits until `work` has returned.
  virtual ~Thread() = default;
};

}  // namespace durlog

#endif  // DURLOG_PLATFORM_THREAD_H_
