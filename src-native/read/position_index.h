// The offsets of some records of a segment, so that a read from the middle of a segment need not
// scan from its start.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace durlog {

// The log fills it as it appends, and readers fill it as they read: one position per 16 KiB, also
// inside large batches, for the segments used last. A position takes 16 bytes, which is 1 KiB per
// MiB of log, or 200 KiB for a million records of 200 bytes. All positions together describe at
// most 8 GiB of log and take at most 16 MiB.
//
// A position is a hint. It was a boundary between frames when it was noted, and the log may have
// been cut since. The seq and the checksum of the frame at that place prove the hint, or the hint
// is dropped. Segments are identified by their salt, which is unique.
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
    uint64_t next_offset;  // of the next known position; 0 if there is none
  };
  enum class Place : uint8_t { kBetweenBatches, kInsideBatch };
  static constexpr uint64_t kSpacingBytes = 16 << 10;

  // The index of the process; never destroyed.
  static PositionIndex& Shared();

  // Ignored if another position of the same kind is nearer than kSpacingBytes.
  void Note(uint64_t salt, Position position, Place place = Place::kBetweenBatches);
  // The last known position that is not after `seq`, with no batch open there.
  std::optional<Found> Find(uint64_t salt, uint64_t seq);
  // As Find(), also inside a batch: for a reader that knows that the batch of `seq` is whole.
  std::optional<Found> FindFrame(uint64_t salt, uint64_t seq);
  void Forget(uint64_t salt);
  // Must be called after the log was cut to end before `seq`: later positions are no longer
  // boundaries.
  void ForgetFrom(uint64_t salt, uint64_t seq);
  void Clear();

 private:
  static constexpr size_t kMaxSegments = 4096;
  static constexpr size_t kMaxPositions = 512 << 10;
  struct IndexedSegment {
    uint64_t salt;
    // In ascending order of offset.
    std::array<std::vector<Position>, 2> positions;
    size_t size() const { return positions[0].size() + positions[1].size(); }
  };

  static std::optional<Found> FindIn(const std::vector<Position>& positions, uint64_t seq);
  // The segment, moved to the front; null if no position of it is known.
  IndexedSegment* FindSegment(uint64_t salt);
  void DropOldest();

  std::mutex mutex_;
  std::list<IndexedSegment> segments_;  // the most recently used first
  std::unordered_map<uint64_t, std::list<IndexedSegment>::iterator> by_salt_;
  size_t positions_ = 0;  // of all segments
};

}  // namespace durlog
