// The sizes and the times of a log's segments, for retention.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "platform/file_system.h"

namespace durlog {

// Remembers the values that no longer change, so that a pass over many segments opens few files.
// Used by one thread at a time.
class SegmentSurvey {
 public:
  // `directory` outlives the survey.
  explicit SegmentSurvey(Directory& directory) : directory_(directory) {}

  // For a segment that is not the active one.
  Result<uint64_t> BytesOf(uint64_t first_seq);
  // Whether every record of the segment `first_seq` is older than `time_ms`, provided that the
  // log's times rise. `next_first_seq` is the first seq of the next segment. False if the times
  // cannot be read, or if a record is damaged. Reads a whole segment at most once.
  bool IsOlder(uint64_t first_seq, std::optional<uint64_t> next_first_seq, uint64_t time_ms);
  // The segment is sealed, and the time of its newest record is known.
  void NoteNewest(uint64_t first_seq, uint64_t time_ms) { newest_ms_[first_seq] = time_ms; }
  // Forgets the segments below `first_seq`, which have been removed.
  void ForgetBelow(uint64_t first_seq);

 private:
  Directory& directory_;
  std::map<uint64_t, uint64_t> bytes_;
  std::map<uint64_t, uint64_t> newest_ms_;
};

}  // namespace durlog
