#include <poll.h>

#include "platform/output_pipe.h"

namespace durlog {

bool HasNoReader(int descriptor) {
  struct pollfd output = {descriptor, 0, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace durlog
