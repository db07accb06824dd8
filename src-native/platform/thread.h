// A thread. Unlike std::thread, it reports an error if the system cannot create one.
#pragma once

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
