#include "platform/posix_populate.h"

namespace durlog {

// No call of this system faults pages in for writing.
Status PopulatePages(uint8_t* start, size_t size, const FaultGuard& guard,
                     const std::string& path) {
  return TouchPages(start, size, guard, path);
}

}  // namespace durlog
