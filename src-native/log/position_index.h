// Where some records of a segment stand, so that a read from the middle need not begin at its
// start.
#ifndef DURLOG_LOG_POSITION_INDEX_H_
#define DURLOG_LOG_POSITION_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

namespace durlog {

// Filled by cursors as they go, one position each 64 KiB, for the segments used last: at most 4 MiB
// of memory. A position is a hint: a log can have been cut since, so whoever follows one finds out
// by the checksum. Segments are told apart by their salt, which no two share. For any thread.
class PositionIndex {
 public:
  struct Position {
    uint64_t seq;
    uint64_t offset;
  };
  static constexpr uint64_t kSpacingBytes = 64 << 10;

  // One for the process; never destroyed.
  static PositionIndex& Shared();

  void Note(uint64_t salt, Position position);
  // The last known position that is not behind `seq`.
  std::optional<Position> Find(uint64_t salt, uint64_t seq);
  void Forget(uint64_t salt);

 private:
  static constexpr size_t kMaxSegments = 64;
  static constexpr size_t kMaxPositions = 4096;
  struct Segment {
    uint64_t salt;
    std::vector<Position> positions;  // ascending
  };

  std::list<Segment>::iterator FindSegment(uint64_t salt);

  std::mutex mutex_;
  std::list<Segment> segments_;  // used last, first
};

}  // namespace durlog

#endif  // DURLOG_LOG_POSITION_INDEX_H_
