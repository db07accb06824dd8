// The end of a segment, mapped into memory: consecutive chunks that a worker populates ahead of the
// append point, so that a store causes no page fault.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "base/executor.h"
#include "base/job.h"
#include "checksum/crc32c.h"
#include "record/record_format.h"
#include "segment/chunk.h"
#include "segment/segment.h"

namespace durlog {

// Maps one chunk and populates it. If it is cancelled before a worker has begun it, it does
// neither.
class ChunkJob final : public Job {
 public:
  // The bytes below `zero_from` must not be overwritten.
  ChunkJob(std::shared_ptr<Segment> segment, uint64_t begin, uint64_t end, uint64_t zero_from,
           Populating populating)
      : segment_(std::move(segment)), zero_from_(zero_from), populating_(populating) {
    chunk_.begin = begin;
    chunk_.end = end;
  }
  // After done().
  const Status& status() const { return status_; }
  Chunk& chunk() { return chunk_; }
  // Releases the segment and the mapping, because a worker may hold the job for longer.
  void Release() {
    segment_.reset();
    chunk_.mapping.reset();
  }

 protected:
  void Run() override;

 private:
  std::shared_ptr<Segment> segment_;
  const uint64_t zero_from_;
  const Populating populating_;
  Chunk chunk_;
  Status status_;
};

// Runs chunk jobs one after the other on one worker: in parallel, they would spin on the file's
// lock and occupy workers that other jobs need. First unmaps the retired chunks, so that the
// appending thread does not have to.
class ChunkRun final : public Job {
 public:
  ChunkRun(std::vector<std::shared_ptr<ChunkJob>> jobs, std::vector<Chunk> retired)
      : jobs_(std::move(jobs)), retired_(std::move(retired)) {}

 protected:
  void Run() override;

 private:
  std::vector<std::shared_ptr<ChunkJob>> jobs_;
  std::vector<Chunk> retired_;
};

// How a tail is laid out.
struct TailShape {
  uint32_t map_alignment = 4096;
  uint64_t window_bytes = 4u << 20;  // a power of two: see MappedTail::window_bytes()
  Populating populating = Populating::kTouch;

  // A worker populates it in one piece, and the appending thread may have to wait for it.
  uint64_t chunk_bytes() const {
    return window_bytes / 4 > map_alignment ? window_bytes / 4 : map_alignment;
  }
};

// The state that the tail of a sealed segment passes to the next segment's tail.
struct TailLegacy {
  std::vector<Chunk> chunks;  // to be unmapped by a worker
  uint64_t lead_bytes = 0;
};

// Used by the appending thread alone. Offsets only grow.
class MappedTail {
 public:
  // `segment` is active, all its blocks are allocated, and no job fills it. Stores begin at
  // `offset`. If there is a `first` chunk, it contains `offset`, and the first store waits for no
  // job.
  MappedTail(std::shared_ptr<Segment> segment, uint64_t offset, const TailShape& shape,
             Executor* executor, Chunk first = {}, TailLegacy legacy = {});
  // Quiesces, unless the tail was left.
  ~MappedTail() { Quiesce(); }
  MappedTail(const MappedTail&) = delete;
  MappedTail& operator=(const MappedTail&) = delete;

  // Makes [offset, offset + length) storable, and waits for the worker if it has not mapped that
  // range yet. `length` is at most window_bytes(); for a longer frame, call SkipTo() with its end
  // and write it to the file.
  Status Ensure(uint64_t offset, uint64_t length) {
    if (!InCurrent(offset, length)) return EnsureChunks(offset, offset + length);
    spans_chunks_ = false;
    return Status::Ok();
  }
  // After Ensure(). Splits the store at chunk borders.
  void Store(uint64_t offset, const void* from, size_t length) {
    if (InCurrent(offset, length)) {
      std::memcpy(current_ + (offset - current_begin_), from, length);
    } else {
      StoreAcross(offset, from, length, 0);
    }
  }
  // As Store(), and returns the CRC of the stored bytes, continued from `crc`: see CopyAndCrc32c().
  uint32_t StoreWithCrc(uint64_t offset, const void* from, size_t length, uint32_t crc) {
    if (!InCurrent(offset, length)) return StoreAcross(offset, from, length, crc);
    return CopyAndCrc32c(crc, current_ + (offset - current_begin_), from, length);
  }
  // Stores the first word of a frame atomically, after the rest. A reader sees the frame from then
  // on.
  void Publish(uint64_t offset, uint32_t word) {
    // Frames start on multiples of eight, so the word is aligned and the store is atomic.
    static_assert(kFrameAlignment % alignof(std::atomic<uint32_t>) == 0, "the word is aligned");
    static_assert(sizeof(std::atomic<uint32_t>) == sizeof word, "the atomic is the word itself");
    uint8_t* const at =
        InCurrent(offset, sizeof word) ? current_ + (offset - current_begin_) : Find(offset);
    reinterpret_cast<std::atomic<uint32_t>*>(at)->store(word, std::memory_order_release);
  }
  // Whether a store into the chunks that the last frame touched met a page that the system could
  // not provide; the tail is unusable then. After Ensure().
  bool faulted() const { return current_mapping_->faulted() || (spans_chunks_ && AnyFaulted()); }

  // Whether the byte at `offset` can still be stored to.
  bool Holds(uint64_t offset) const { return InCurrent(offset, 1) || Find(offset) != nullptr; }
  // All mapped parts of the segment, in ascending order, also those ahead of the append point.
  // There may be gaps between them.
  std::vector<Chunk> Mapped() const;
  // Stores continue at `offset`; no job touches the file below it any more.
  void SkipTo(uint64_t offset);
  // Cancels the chunk jobs, waits for them and unmaps their chunks, so that the file may be cut or
  // written past the cache. Nothing can be stored afterwards.
  void Quiesce();
  // Gives up the tail of a sealed segment without waiting: a job may still write zeros after its
  // last frame. See SegmentFile::AwaitFills(). No store is possible afterwards.
  TailLegacy Leave();
  // Whether a ChunkJob is running. A running job dirties the range ahead of the append point.
  bool populating() const;
  // How far ahead of the append point pages are populated; a multiple of the map's alignment.
  uint64_t lead_bytes() const { return lead_bytes_; }
  // The longest frame that can be stored, and the length that stays mapped before the append point.
  uint64_t window_bytes() const { return shape_.window_bytes; }

 private:
  // The first chunk is small, so that a log of ten records dirties little. The lead has to last a
  // stream of records while a busy machine or a journal commit delays the worker. But the next
  // `full` sync writes its zeros too, so it grows with the bytes stored.
  static constexpr uint64_t kFirstChunkShare = 16;
  static constexpr uint64_t kGrowth = 4;
  static constexpr uint64_t kLeadShare = 2;
  static constexpr uint64_t kWindowsAhead = 4;

  bool InCurrent(uint64_t offset, uint64_t length) const {
    return offset >= current_begin_ && offset + length <= current_end_;
  }
  Status EnsureChunks(uint64_t offset, uint64_t end);
  uint32_t StoreAcross(uint64_t offset, const void* from, size_t length, uint32_t crc);
  uint8_t* Find(uint64_t offset) const;
  bool AnyFaulted() const;
  void PrepareAhead();
  Status TakeNextChunk();
  void RetireBelow(uint64_t offset);
  void ForgetCurrent();
  uint64_t prepared_from() const { return chunks_.empty() ? first_offset_ : chunks_.back().end; }
  uint8_t* Address(const Chunk& chunk, uint64_t offset) const {
    return chunk.mapping->data() + (offset - chunk.begin);
  }

  std::shared_ptr<Segment> segment_;  // null once the tail was left
  const TailShape shape_;
  Executor* const executor_;
  uint64_t first_offset_;
  uint64_t next_chunk_bytes_;
  uint64_t lead_bytes_;
  uint64_t prepared_end_;  // end of the last chunk that has been requested
  std::deque<Chunk> chunks_;
  std::deque<std::shared_ptr<ChunkJob>> ahead_;
  std::shared_ptr<ChunkRun> run_;
  std::vector<Chunk> retired_;
  bool spans_chunks_ = false;
  // The common case in two compares: the chunk that is being stored to.
  uint64_t current_begin_ = 0;
  uint64_t current_end_ = 0;
  uint8_t* current_ = nullptr;
  const Mapping* current_mapping_ = nullptr;
};

}  // namespace durlog
