// The parts of the system that the simulated process lacks: threads except its seeded workers, and
// huge pages.
#include "base/huge_pages.h"
#include "platform/thread.h"

namespace durlog {

Result<std::unique_ptr<Thread>> Thread::Start(std::function<void()>) {
  return Status::Error(Code::kUnsupported, "the simulated process starts no threads");
}

void PreferHugePages(void*, size_t) {}

}  // namespace durlog
