// Where some records of a segment are, so that a read from the middle need not begin at its start.
#ifndef DURLOG_READ_POSITION_INDEX_H_
#define DURLOG_READ_POSITION_INDEX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace durlog {

// Filled by the log as it appends and by its readers, one position each 16 KiB, for the segments
// used last, also inside large batches. A position takes 16 bytes: 1 KiB for each MiB of log,
// 200 KiB for a million records of 200 bytes. All of them together describe at most 8 GiB of log
// and take at most 16 MiB.
//
// A position is a hint. It was a boundary between frames when it was noted; the log can have been
// cut since. What is read from it proves itself by its seq and its checksum, or the hint is
// dropped. Segments are identified by their salt, which no two share.
//
// For any thread.
class PositionIndex {
 public:
  struct Position {
    uint64_t seq;  // of the first record at or after `offset`
    uint64_t offset;
  };
  struct Found {
    uint64_t seq;
    uint64_t offset;
    uint64_t next_offset;  // of the next position that is known; 0 if there is none
  };
  enum class Place : uint8_t { kBetweenBatches, kInsideBatch };
  static constexpr uint64_t kSpacingBytes = 16 << 10;

  // One for the process; never destroyed.
  static PositionIndex& Shared();

  // Ignored if another position of the same kind is nearer than kSpacingBytes.
  void Note(uint64_t salt, Position position, Place place = Place::kBetweenBatches);
  // The last known position that is not after `seq`, with no batch open there.
  std::optional<Found> Find(uint64_t salt, uint64_t seq);
  // As Find(), also inside a batch: for a reader that knows that the batch of `seq` is whole.
  std::optional<Found> FindFrame(uint64_t salt, uint64_t seq);
  void Forget(uint64_t salt);
  // After a cut before `seq`: what was noted after it is no boundary any more.
  void ForgetBehind(uint64_t salt, uint64_t seq);
  void Clear();

 private:
  static constexpr size_t kMaxSegments = 4096;
  static constexpr size_t kMaxPositions = 512 << 10;
  struct Segment {
    uint64_t salt;
    // Ascending, by place.
    std::array<std::vector<Position>, 2> positions;
    size_t size() const { return positions[0].size() + positions[1].size(); }
  };

  static std::optional<Found> FindIn(const std::vector<Position>& positions, uint64_t seq);
  // The segment, moved to the front; null if nothing is known of it.
  Segment* FindSegment(uint64_t salt);
  void DropOldest();

  std::mutex mutex_;
  std::list<Segment> segments_;  // used last, first
  std::unordered_map<uint64_t, std::list<Segment>::iterator> by_salt_;
  size_t positions_ = 0;  // of all segments
};

}  // namespace durlog

#endif  // DURLOG_READ_POSITION_INDEX_H_
