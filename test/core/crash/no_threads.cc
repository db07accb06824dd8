// The simulated process has no threads except its seeded workers.
#include "platform/thread.h"

namespace durlog {

Result<std::unique_ptr<Thread>> Thread::Start(std::function<void()>) {
  return Status::Error(Code::kUnsupported, "the simulated process starts no threads");
}

}  // namespace durlog
