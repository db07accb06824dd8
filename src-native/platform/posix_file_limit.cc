#include "platform/posix_file_limit.h"

#include <sys/resource.h>

namespace durlog {

bool PassesFileSizeLimit(uint64_t end) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
  return limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
}

}  // namespace durlog
