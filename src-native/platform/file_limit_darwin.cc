#include <signal.h>

#include "platform/posix_file_limit.h"

namespace durlog {
namespace {

// Only if the program has no handler for the signal: a handler keeps the process alive.
bool IgnoreUnlessHandled() {
  struct sigaction current;
  if (sigaction(SIGXFSZ, nullptr, &current) != 0) return false;
  if ((current.sa_flags & SA_SIGINFO) != 0 || current.sa_handler != SIG_DFL) return true;
  current.sa_handler = SIG_IGN;
  return sigaction(SIGXFSZ, &current, nullptr) == 0;
}

}  // namespace

void ExpectFileSizeLimit() {
  // macOS sends SIGXFSZ to the process, not to the thread that wrote: blocking it in one thread
  // would let it kill in another.
  static const bool ignored = IgnoreUnlessHandled();
  (void)ignored;
}

}  // namespace durlog
