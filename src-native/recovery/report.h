// The result of a recovery. docs/FORMAT.md has the table of cases.
#pragma once

#include <cstdint>
#include <string>

#include "platform/file_system.h"

namespace durlog {

enum class RecoveryState : uint8_t {
  kClean,     // nothing follows the last record
  kTornTail,  // an incomplete end that was never acknowledged at sync
  kHole,      // as kTornTail, with whole records in it, none of them known to be synced
  kCorrupt,   // damage below the end that is known to have been synced
};

struct RecoveryReport {
  RecoveryState state = RecoveryState::kClean;
  uint64_t scanned_from = 0;  // the first seq of the oldest segment that was read
  uint64_t scanned_bytes = 0;
  uint64_t discarded_bytes = 0;
  uint64_t discarded_records = 0;
  std::string segment;  // file name of the damage; "" if there is none
  uint64_t offset = 0;
  uint64_t lost_first = 1;  // kCorrupt: the seqs lost; first > last if there are none
  uint64_t lost_last = 0;
  std::string detail;  // the fault at that place, as one clause
};

// "seq 5" or "seq 5 to 9".
std::string SeqsText(uint64_t first, uint64_t last);

// The error for a log that needs salvage or repair, made from the plan's report.
Status CorruptError(const Directory& directory, const RecoveryReport& report);

}  // namespace durlog
