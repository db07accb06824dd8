// Makes the retention plan for a log from the files in its folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platform/file_system.h"
#include "record/segment_header.h"
#include "retention/cursor_syncs.h"
#include "retention/retention_plan.h"
#include "retention/segment_survey.h"

namespace durlog {

struct SealedSegment {
  uint64_t first_seq = 0;
  uint64_t newest_ms = 0;  // the time of its newest record
};

// The state of a log that a retention plan depends on.
struct LogShape {
  LogUuid uuid{};
  std::vector<uint64_t> first_seqs;  // of its segments, oldest first
  uint64_t next_seq = 0;
  uint64_t keep = 0;           // as in RetainedLog
  uint64_t segment_bytes = 0;  // of the next segment
  // The time of the newest record; nullopt if it must be read from the segment.
  std::optional<uint64_t> newest_ms;
  // Segments that have been sealed since the last survey.
  std::vector<SealedSegment> sealed;
};

// Reads the cursors' files, and the segments that `survey` does not know. If the plan removes
// segments, the cursors' positions are on the device when this returns.
Result<RetentionPlan> PlanShape(FileSystem& file_system, Directory& directory,
                                const LogShape& shape, const RetentionPolicy& policy,
                                SegmentSurvey* survey, CursorSyncs* syncs);

// For a log that another process may have open. Takes no lock and changes nothing.
struct FolderPlan {
  RetentionPlan plan;
  uint64_t segment_bytes = 0;  // of the newest segment
};
Result<FolderPlan> PlanFolder(FileSystem& file_system, const std::string& path,
                              const RetentionPolicy& policy);

}  // namespace durlog
