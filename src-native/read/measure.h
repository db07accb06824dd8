// How far two records are apart.
#ifndef DURLOG_READ_MEASURE_H_
#define DURLOG_READ_MEASURE_H_

#include <cstdint>
#include <string>

#include "platform/file_system.h"

namespace durlog {

struct LogDistance {
  // The frames of both records and of all between them. Where they are in several segments, what is
  // left free at the end of these counts too.
  uint64_t bytes = 0;
  uint64_t ms = 0;  // from the first one's time to the last one's; 0 where the clock was set back
};

// Reads the two records, `first` and `last`, which are acknowledged, and as PointReader does what
// is in front of them where nothing is known of that part of a segment. Takes no lock.
Result<LogDistance> MeasureDistance(FileSystem& file_system, const std::string& path,
                                    uint64_t first, uint64_t last);

}  // namespace durlog

#endif  // DURLOG_READ_MEASURE_H_
