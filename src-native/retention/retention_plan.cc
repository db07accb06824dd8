#include "retention/retention_plan.h"

#include <algorithm>

namespace durlog {
namespace {

uint64_t EndOf(const RetainedLog& log, size_t index) {
  return index + 1 < log.segments.size() ? log.segments[index + 1].first_seq : log.next_seq;
}

// The number of the oldest segments that may be removed at all.
size_t RemovableIn(const RetainedLog& log) {
  size_t count = 0;
  while (count + 1 < log.segments.size() && log.segments[count].first_seq < log.keep) ++count;
  return count;
}

// The position of a cursor, limited to the log's records. A cursor whose position is unknown may be
// anywhere.
uint64_t PlaceIn(const RetainedLog& log, const CursorPlace& cursor) {
  const uint64_t first_seq = log.segments.front().first_seq;
  return std::max(cursor.position.value_or(first_seq), first_seq);
}

// Every cursor has read the records below the result. UINT64_MAX if cursors hold nothing back.
uint64_t PassedByAll(const RetentionPolicy& policy, const RetainedLog& log) {
  uint64_t passed = UINT64_MAX;
  if (!policy.keep_for_cursors) return passed;
  for (const CursorPlace& cursor : log.cursors) passed = std::min(passed, PlaceIn(log, cursor));
  return passed;
}

bool MayGoByAge(const RetentionPolicy& policy, const RetainedLog& log, size_t index,
                uint64_t passed, uint64_t now_ms, const IsOlder& is_older) {
  if (!policy.max_age_ms || now_ms < *policy.max_age_ms || EndOf(log, index) > passed) return false;
  return is_older(index, now_ms - *policy.max_age_ms);
}

// A segment that was written under a clock that was ahead. Its age is known only from the segments
// after it, whose records are younger. The time of a damaged segment cannot be read.
bool IsAhead(size_t index, uint64_t now_ms, const IsOlder& is_older) {
  return !is_older(index, now_ms + 1) && is_older(index, UINT64_MAX);
}

bool IsPassed(const RetentionPolicy& policy, const RetainedLog& log, size_t index,
              uint64_t passed) {
  return policy.passed_before && EndOf(log, index) <= std::min(*policy.passed_before, passed);
}

size_t RemovedForRoom(const RetentionPolicy& policy, const RetainedLog& log, size_t removable,
                      bool* over) {
  if (!policy.max_bytes) return 0;
  uint64_t bytes = log.room_bytes;
  for (const RetainedSegment& segment : log.segments) bytes += segment.bytes;
  size_t count = 0;
  while (count < removable && bytes > *policy.max_bytes) bytes -= log.segments[count++].bytes;
  *over = bytes > *policy.max_bytes;
  return count;
}

size_t RemovedBefore(const RetentionPolicy& policy, const RetainedLog& log, size_t removable) {
  size_t count = 0;
  while (policy.before && count < removable && EndOf(log, count) <= *policy.before) ++count;
  return count;
}

}  // namespace

RetentionPlan PlanRetention(const RetentionPolicy& policy, const RetainedLog& log, uint64_t now_ms,
                            const IsOlder& is_older) {
  RetentionPlan plan;
  const size_t removable = RemovableIn(log);
  const uint64_t passed = PassedByAll(policy, log);
  const size_t active = log.segments.size() - 1;
  size_t count = std::max(RemovedForRoom(policy, log, removable, &plan.over),
                          RemovedBefore(policy, log, removable));
  plan.regardless = log.segments[count].first_seq;
  for (size_t i = count; i < removable; ++i) {
    if (IsPassed(policy, log, i, passed) || MayGoByAge(policy, log, i, passed, now_ms, is_older)) {
      count = i + 1;
    } else if (!policy.max_age_ms || !IsAhead(i, now_ms, is_older)) {
      break;
    }
  }
  // A segment that is not synced stays, however old it is.
  if (count == active && log.segments[active].first_seq < log.next_seq) {
    plan.seal = MayGoByAge(policy, log, active, passed, now_ms, is_older);
  }
  plan.before = log.segments[count].first_seq;
  plan.segments = count;
  if (!policy.keep_for_cursors) {
    plan.regardless = plan.before;
    return plan;
  }
  for (const CursorPlace& cursor : log.cursors) {
    const uint64_t place = PlaceIn(log, cursor);
    if (place < plan.before) plan.overruns.push_back({cursor.name, place, plan.before - 1});
  }
  return plan;
}

}  // namespace durlog
