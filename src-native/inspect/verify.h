// Reads a whole log and lists the damage. It takes no lock and changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inspect/bounds.h"
#include "platform/file_system.h"
#include "recovery/report.h"

namespace durlog {

struct SegmentReport {
  std::string name;
  uint64_t bytes = 0;
  uint64_t first_seq = 0;
  uint64_t records = 0;
  uint64_t end_offset = 0;
  std::string header_problem;  // "" if both copies are whole
};

struct Problem {
  std::string segment;
  uint64_t offset = 0;
  uint64_t lost_first = 1;  // first > last if no seq is lost
  uint64_t lost_last = 0;
  std::string message;
};

struct VerifyReport {
  RecoveryState state = RecoveryState::kClean;
  LogBounds bounds;
  uint64_t records = 0;
  uint64_t payload_bytes = 0;
  std::vector<SegmentReport> segments;
  std::vector<Problem> problems;
};

// Reads every byte of every segment. While a writer has the log open, records that it has not
// acknowledged are still being written and are not damage.
Result<VerifyReport> Verify(FileSystem& file_system, const std::string& path);

}  // namespace durlog
