// Looking at a log from outside: verify, dump and repair. Only repair takes the lock and writes.
#ifndef DURLOG_LOG_INSPECT_H_
#define DURLOG_LOG_INSPECT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "platform/file_system.h"
#include "segment/recovery.h"

namespace durlog {

struct LogBounds {
  uint64_t first_seq = 0;
  uint64_t next_seq = 0;
  uint64_t synced_end = 0;  // known to have been synced; exclusive
  LogUuid uuid{};
};

// What the log's writer tells, while there is one, else what the files do.
Result<LogBounds> ReadBounds(FileSystem& file_system, const std::string& path);

struct SegmentReport {
  std::string name;
  uint64_t bytes = 0;
  uint64_t first_seq = 0;
  uint64_t records = 0;
  uint64_t end_offset = 0;
  std::string header_problem;  // "" where both copies are whole
};

struct Problem {
  std::string segment;
  uint64_t offset = 0;
  uint64_t lost_first = 1;  // first > last where no seq is lost
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

// Reads every byte of every segment. Beside a writer, what it has not acknowledged yet is still
// being written, and no damage.
Result<VerifyReport> Verify(FileSystem& file_system, const std::string& path);

struct FrameReport {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  DecodeStatus status = DecodeStatus::kFree;
  FrameFields fields;
  uint64_t time_ms = 0;  // since the Unix epoch
};

// Frames of one segment from `offset` on (0: from the first), at most `max`; damage is one entry
// that reaches to the next whole frame. Ends with the free space, if there is any.
Result<std::vector<FrameReport>> ListFrames(FileSystem& file_system, const std::string& path,
                                            const std::string& segment, uint64_t offset,
                                            size_t max);

struct RepairReport {
  RecoveryState state = RecoveryState::kClean;
  bool applied = false;
  std::vector<Cut> cuts;
};

// What an open would cut, copied into the folder `backup` first. A dry run unless `apply`.
// kCorrupt where synced records are damaged: there is nothing that a repair could cut.
Result<RepairReport> Repair(FileSystem& file_system, const std::string& path, bool apply,
                            const std::string& backup);

}  // namespace durlog

#endif  // DURLOG_LOG_INSPECT_H_
