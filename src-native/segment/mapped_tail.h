// The end of a segment as memory: a ring of mapped chunks whose pages are faulted in ahead of the
// append point by a worker, so that a store is a store and not a page fault.
#ifndef DURLOG_SEGMENT_MAPPED_TAIL_H_
#define DURLOG_SEGMENT_MAPPED_TAIL_H_

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "base/executor.h"
#include "base/job.h"
#include "checksum/crc32c.h"
#include "platform/file_system.h"
#include "record/record_format.h"
#include "segment/segment.h"

namespace durlog {

// A mapped and populated stretch of a segment.
struct Chunk {
  uint64_t begin = 0;  // offset in the segment
  uint64_t end = 0;
  std::shared_ptr<Mapping> mapping;
};

// How the pages of a chunk come to be.
enum class Populating : uint8_t {
  // The kernel makes them one by one as they are touched: small folios, so that an msync after a
  // small store writes little.
  kTouch,
  // Zeros are written to the cache first: large folios, in two thirds of the time.
  kWriteZeros,
};

// Maps one chunk and populates it; first drops those that are behind the append point, so that
// unmapping costs the appending thread nothing.
class ChunkJob final : public Job {
 public:
  // Below `zero_from` stands what must not be written over.
  ChunkJob(std::shared_ptr<Segment> segment, uint64_t begin, uint64_t end, uint64_t zero_from,
           Populating populating, std::vector<Chunk> retired)
      : segment_(std::move(segment)),
        zero_from_(zero_from),
        populating_(populating),
        retired_(std::move(retired)) {
    chunk_.begin = begin;
    chunk_.end = end;
  }
  // Where no worker has begun, none will do anything any more.
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  // After done().
  const Status& status() const { return status_; }
  Chunk& chunk() { return chunk_; }

 protected:
  void Run() override;

 private:
  Status WriteZeros();

  const std::shared_ptr<Segment> segment_;
  const uint64_t zero_from_;
  const Populating populating_;
  std::vector<Chunk> retired_;
  std::atomic<bool> cancelled_{false};
  Chunk chunk_;
  Status status_;
};

// One chunk after the other, on one worker: side by side they would only spin on the file's lock,
// and keep the other workers from whoever needs them.
class ChunkRun final : public Job {
 public:
  explicit ChunkRun(std::vector<std::shared_ptr<ChunkJob>> jobs) : jobs_(std::move(jobs)) {}

 protected:
  void Run() override;

 private:
  std::vector<std::shared_ptr<ChunkJob>> jobs_;
};

// Used by the appending thread alone. Offsets only grow.
class MappedTail {
 public:
  // `segment` is active, and its blocks are allocated up to its end. Stores begin at `offset`.
  MappedTail(std::shared_ptr<Segment> segment, uint64_t offset, uint32_t map_alignment,
             uint64_t chunk_bytes, Populating populating, Executor* executor);
  // No job outlives the tail: it would write its zeros over the records of whoever comes next.
  ~MappedTail() { Quiesce(); }
  MappedTail(const MappedTail&) = delete;
  MappedTail& operator=(const MappedTail&) = delete;

  // Makes [offset, offset + length) storable, waiting for the worker if it is behind. `length` is
  // at most max_frame_bytes(): for a longer frame SkipTo() its end, and write it to the file.
  Status Ensure(uint64_t offset, uint64_t length) {
    if (InCurrent(offset, length)) return Status::Ok();
    return EnsureChunks(offset + length);
  }
  // After Ensure(). Cuts at chunk borders.
  void Store(uint64_t offset, const void* from, size_t length) {
    if (InCurrent(offset, length)) {
      std::memcpy(current_ + (offset - current_begin_), from, length);
    } else {
      StoreAcross(offset, from, length, 0);
    }
  }
  // As Store(), and returns the CRC of what was stored, continued from `crc`: see CopyAndCrc32c().
  uint32_t StoreWithCrc(uint64_t offset, const void* from, size_t length, uint32_t crc) {
    if (!InCurrent(offset, length)) return StoreAcross(offset, from, length, crc);
    return CopyAndCrc32c(crc, current_ + (offset - current_begin_), from, length);
  }
  // The first word of a frame, last of all and in one piece: from here on a reader sees it.
  void Publish(uint64_t offset, uint32_t word) {
    // Frames start on multiples of eight, so the word is aligned and the store is one.
    static_assert(kFrameAlignment % alignof(std::atomic<uint32_t>) == 0, "the word is aligned");
    static_assert(sizeof(std::atomic<uint32_t>) == sizeof word, "the atomic is the word itself");
    uint8_t* const at =
        InCurrent(offset, sizeof word) ? current_ + (offset - current_begin_) : Find(offset);
    reinterpret_cast<std::atomic<uint32_t>*>(at)->store(word, std::memory_order_release);
  }
  // Whether a store into the chunks that the last frame touched met a page that could not be had;
  // the tail is of no more use then. After Ensure().
  bool faulted() const {
    return current_mapping_->faulted() ||
           (chunks_.size() > 1 && chunks_.front().mapping->faulted());
  }

  // Whether the byte there can still be stored to.
  bool Holds(uint64_t offset) const { return InCurrent(offset, 1) || Find(offset) != nullptr; }
  // Mappings that together cover [begin, end), or nothing where some of it is no longer mapped.
  std::vector<Chunk> Covering(uint64_t begin, uint64_t end) const;
  // Stores go on at `offset`; nobody touches the file below it any more.
  void SkipTo(uint64_t offset);
  // Calls the chunk jobs back and unmaps what they have mapped, so that the file may be cut or
  // written past the cache. Nothing can be stored afterwards.
  void Quiesce();
  // A ChunkJob is out. While it is, the range ahead of the append point is being dirtied.
  bool populating() const;
  // No chunk but a segment's last is smaller, so that a frame spans two at most.
  uint64_t max_frame_bytes() const { return chunk_bytes_; }

 private:
  // One until the first is full: a log of ten records dirties no more. A stream of records is
  // worth more of a lead.
  static constexpr size_t kChunksAhead = 4;

  bool InCurrent(uint64_t offset, uint64_t length) const {
    return offset >= current_begin_ && offset + length <= current_end_;
  }
  Status EnsureChunks(uint64_t end);
  uint32_t StoreAcross(uint64_t offset, const void* from, size_t length, uint32_t crc);
  uint8_t* Find(uint64_t offset) const;
  void PrepareAhead();
  Status TakeNextChunk();
  uint8_t* Address(const Chunk& chunk, uint64_t offset) const {
    return chunk.mapping->data() + (offset - chunk.begin);
  }

  const std::shared_ptr<Segment> segment_;
  const uint32_t map_alignment_;
  uint64_t first_offset_;
  const uint64_t chunk_bytes_;
  const Populating populating_;
  Executor* const executor_;
  size_t chunks_ahead_ = 1;
  uint64_t prepared_end_;  // end of the last chunk that has been asked for
  std::deque<Chunk> chunks_;
  std::deque<std::shared_ptr<ChunkJob>> ahead_;
  std::shared_ptr<ChunkRun> run_;
  std::vector<Chunk> retired_;
  // The common case in two compares: the chunk that is being stored to.
  uint64_t current_begin_ = 0;
  uint64_t current_end_ = 0;
  uint8_t* current_ = nullptr;
  const Mapping* current_mapping_ = nullptr;
};

}  // namespace durlog

#endif  // DURLOG_SEGMENT_MAPPED_TAIL_H_
