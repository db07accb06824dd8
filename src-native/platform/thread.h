// A thread. Unlike std::thread, it reports an error if the system cannot create one.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "base/status.h"

namespace durlog {

class Thread {
 public:
  // Runs `work` on a new thread that has every signal blocked.
  static Result<std::unique_ptr<Thread>> Start(std::function<void()> work);
  // Waits until `work` has returned.
  virtual ~Thread() = default;
};

// For how long the calling thread has been ready to run without a processor, since it began.
// Nothing if the system does not report it.
std::optional<std::chrono::nanoseconds> ThreadDelay();

}  // namespace durlog
