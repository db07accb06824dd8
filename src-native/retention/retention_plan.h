// Decides which of a log's oldest segments to remove.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cursor/cursor_file.h"

namespace durlog {

// A limit that is not set removes nothing.
struct RetentionPolicy {
  // The bytes that the log's segments may take, including room for the next ones.
  std::optional<uint64_t> max_bytes;
  // A segment whose newest record is older is removed once every cursor has passed it.
  std::optional<uint64_t> max_age_ms;
  // If false, segments are removed even if cursors have not read them.
  bool keep_for_cursors = true;
  // Records below this seq are removed even if cursors have not read them.
  std::optional<uint64_t> before;
  // Records below this seq are removed once every cursor has passed them.
  std::optional<uint64_t> passed_before;
};

struct RetainedSegment {
  uint64_t first_seq = 0;
  uint64_t bytes = 0;
};

// The log to which a retention policy is applied.
struct RetainedLog {
  std::vector<RetainedSegment> segments;  // oldest first; the last is the one that is appended to
  uint64_t next_seq = 0;
  // The first seq of the oldest segment that has to stay: the active segment, or one that is not
  // synced.
  uint64_t keep = 0;
  uint64_t room_bytes = 0;  // reserved for records that are appended before the next plan
  std::vector<CursorPlace> cursors;
};

// Whether every record of segment `index` is older than `time_ms`. False if this is unknown because
// the segment cannot be read.
using IsOlder = std::function<bool(size_t index, uint64_t time_ms)>;

// Removed records that a cursor had not read yet.
struct CursorOverrun {
  std::string cursor;
  uint64_t first = 0;
  uint64_t last = 0;
};

struct RetentionPlan {
  // Segments wholly below this seq are removed; the log's first seq if none is.
  uint64_t before = 0;
  uint64_t segments = 0;  // the number of these segments
  // The part of `before` that ignores cursors.
  uint64_t regardless = 0;
  // All records of the active segment may be removed: it must be sealed first.
  bool seal = false;
  // The policy would remove more segments, but some of them are not synced yet.
  bool over = false;
  std::vector<CursorOverrun> overruns;  // by `max_bytes` and `before`, in the order of the cursors
};

// Segments are removed oldest first and without a gap: if one stays, all later ones stay.
RetentionPlan PlanRetention(const RetentionPolicy& policy, const RetainedLog& log, uint64_t now_ms,
                            const IsOlder& is_older);

}  // namespace durlog
