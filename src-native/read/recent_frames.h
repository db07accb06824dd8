// The frames that the logs of this process wrote to the device last. Direct writes bypass the page
// cache, so a follower would otherwise have to read the frames back from the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <vector>

#include "base/bytes.h"
#include "platform/file_system.h"

namespace durlog {

// Holds the end of the segments that were written last, 64 KiB of each and 4 MiB in all. A segment
// is identified by KeyOf(). A reader verifies the frames as if it had read them from the file.
//
// For any thread.
class RecentFrames {
 public:
  // Groups above this size are not held: reading one from the device costs little for each record.
  static constexpr size_t kMaxGroupBytes = 32 << 10;

  // A file that is recycled gets another salt. The salt alone does not identify a segment: a copy
  // of a log has the same salts, and may hold other records after those that were copied.
  static uint64_t KeyOf(uint64_t salt, const FileId& file) {
    return salt + file.volume * 0x9E3779B97F4A7C15 + file.index * 0xBF58476D1CE4E5B9;
  }

  // The instance of the process; never destroyed.
  static RecentFrames& Shared();

  // Adds whole frames that are on the device at `offset` of the segment. If they do not follow the
  // frames that are held, they replace them.
  void Note(uint64_t key, uint64_t offset, Bytes frames);
  // Copies the held bytes from `offset` on, at most `capacity`, and returns their number.
  size_t Read(uint64_t key, uint64_t offset, void* to, size_t capacity);
  // Called when the segment is cut or sealed, and when the log is closed.
  void Forget(uint64_t key);

 private:
  static constexpr size_t kMaxSegmentBytes = 64 << 10;
  static constexpr size_t kMaxSegments = 64;

  struct HeldSegment {
    uint64_t key;
    uint64_t begin;
    std::vector<uint8_t> frames;
    uint64_t end() const { return begin + frames.size(); }
  };

  // The segment, moved to the front; null if it is not held.
  HeldSegment* Find(uint64_t key);

  std::mutex mutex_;
  std::list<HeldSegment> segments_;  // the most recently used first
};

}  // namespace durlog
