// The log that the segments of a folder belong to: each header has a UUID, and the majority
// decides.
#pragma once

#include <cstdint>
#include <vector>

#include "platform/file_system.h"
#include "record/segment_header.h"

namespace durlog {

// The log that the segments belong to.
struct LogIdentity {
  LogUuid uuid{};          // zeros if no header can be read
  bool undisputed = true;  // no segment is known to belong to another log
};
// The UUID of most segments. If the oldest and the newest segment have the same UUID, it is the
// result, and no other segment is read.
Result<LogIdentity> IdentifyLog(Directory& directory, const std::vector<uint64_t>& segments);
// As IdentifyLog(). kNotALog if the folder holds another log than `expected` (zeros: any log).
Result<LogIdentity> IdentifyExpectedLog(Directory& directory, const std::vector<uint64_t>& segments,
                                        const LogUuid& expected);
// kCorrupt unless the segment belongs to the log `uuid`.
Status CheckIdentity(const Directory& directory, uint64_t first_seq, const SegmentHeader& header,
                     const LogUuid& uuid);

}  // namespace durlog
