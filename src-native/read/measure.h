// The distance between two records.
#pragma once

#include <cstdint>
#include <string>

#include "platform/file_system.h"

namespace durlog {

struct LogDistance {
  // The frames of both records and of all records between them. If they are in several segments,
  // the free space at the ends of these segments counts too.
  uint64_t bytes = 0;
  uint64_t ms = 0;  // from the first one's time to the last one's; 0 if the clock was set back
};

// Reads the two acknowledged records `first` and `last`. If no position near them is known, it also
// reads the frames before them, like PointReader. Opens each segment between them. Takes no lock.
Result<LogDistance> MeasureDistance(FileSystem& file_system, const std::string& path,
                                    uint64_t first, uint64_t last);

}  // namespace durlog
