#include <pthread.h>
#include <signal.h>

#include "platform/posix_file_limit.h"

namespace durlog {

void ExpectFileSizeLimit() {
  // Linux sends SIGXFSZ to the thread that wrote, so blocking it there is enough, and the host
  // program's own disposition stays as it was. It stays blocked for the life of the thread: the
  // signal remains pending once it was raised, and unblocking would deliver it.
  static thread_local bool blocked = false;
  if (blocked) return;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  blocked = pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0;
}

}  // namespace durlog
