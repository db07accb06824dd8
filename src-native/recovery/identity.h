// Whose segments a folder holds: a header's UUID says so, and most of them decide.
#ifndef DURLOG_RECOVERY_IDENTITY_H_
#define DURLOG_RECOVERY_IDENTITY_H_

#include <cstdint>
#include <vector>

#include "platform/file_system.h"
#include "record/segment_header.h"

namespace durlog {

// Whose segments these are.
struct LogIdentity {
  LogUuid uuid{};          // zeros where no header can be read
  bool undisputed = true;  // no segment is known to be another log's
};
// The UUID of most segments; of the oldest and the newest where these agree, and no other is read.
Result<LogIdentity> IdentifyLog(Directory& directory, const std::vector<uint64_t>& segments);
// kCorrupt unless the segment is of the log `uuid`.
Status CheckIdentity(const Directory& directory, uint64_t first_seq, const SegmentHeader& header,
                     const LogUuid& uuid);

}  // namespace durlog

#endif  // DURLOG_RECOVERY_IDENTITY_H_
