// Stores frames into a map of the segment that is appended to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/executor.h"
#include "platform/file_system.h"
#include "record/record_codec.h"
#include "segment/mapped_tail.h"
#include "segment/segment.h"

namespace durlog {

// A frame is invisible until its first word is stored, because a word of zero marks free space. So
// the first word is stored last: a process that dies before that leaves free space.
//
// A store that fails leaves the file as it was, or has_leftover() is true: bytes of the append must
// be cut before the next store, because they must not follow a later frame. Or broken() is true:
// the bytes at the append point are unknown, and the log must latch.
class MappedFrames {
 public:
  // `directory` must outlive the object.
  explicit MappedFrames(Directory& directory) : directory_(directory) {}

  // Maps `segment` for stores from `offset` on: see MappedTail.
  void Map(const std::shared_ptr<Segment>& segment, uint64_t offset, const TailShape& shape,
           Executor* executor, TailLegacy legacy);
  bool mapped() const { return tail_ != nullptr; }

  // Stores a frame at `at` of the mapped segment. Readers see it when this returns.
  Status Store(Segment& segment, uint64_t at, const FrameFields& fields,
               const PayloadParts& payload) {
    return StoreFrame(segment, at, fields, payload, true);
  }
  // Stores the frames of a batch, of which `first` describes the first one. Readers see all of them
  // when this returns, and none before.
  Status StoreBatch(Segment& segment, uint64_t at, const FrameFields& first,
                    const PayloadParts* payloads, size_t count);
  bool has_leftover() const { return has_leftover_; }
  // Cuts the file at `at`, where the failed store began. The segment must not be mapped: the maps
  // would reach beyond the end of the file. Sets broken() if the cut fails.
  void CutLeftover(Segment& segment, uint64_t at);
  bool broken() const { return broken_; }

  // Waits for a chunk that is being populated.
  void Unmap() { tail_.reset(); }
  // Unmaps a sealed segment without waiting: see MappedTail::Leave(). Requires mapped(). The caller
  // passes the result to the next Map().
  TailLegacy Leave();
  // Hands over the map, if there is one, to a job that will unmap it.
  std::unique_ptr<MappedTail> Retire() { return std::move(tail_); }

  // While mapped(), as the functions of MappedTail.
  bool populating() const { return tail_->populating(); }
  uint64_t lead_bytes() const { return tail_->lead_bytes(); }
  std::vector<Chunk> Mapped() const { return tail_->Mapped(); }

 private:
  static constexpr size_t kWordBytes = 4;

  Status StoreFrame(Segment& segment, uint64_t at, const FrameFields& fields,
                    const PayloadParts& payload, bool publish) {
    uint8_t header[kFrameHeaderBytes];
    const uint32_t crc = BeginFrameHeader(fields, segment.crc_seed(), header);
    const uint64_t frame_bytes = fields.frame_bytes();
    if (frame_bytes > tail_->window_bytes()) {
      return WriteAround(segment, at, header, crc, payload, publish);
    }
    Status mapped = tail_->Ensure(at, frame_bytes);
    if (!mapped.ok()) {
      // Nothing was stored. The next append maps the file again.
      Unmap();
      return std::move(mapped).WithPath(directory_.PathOf(segment.name()));
    }
    const uint64_t head_at = at + kFrameHeaderBytes;
    const auto& [head, rest] = payload;
    const uint32_t head_crc =
        head.size == 0 ? crc : tail_->StoreWithCrc(head_at, head.data, head.size, crc);
    SealFrameHeader(header,
                    tail_->StoreWithCrc(head_at + head.size, rest.data, rest.size, head_crc));
    tail_->Store(at + kWordBytes, header + kWordBytes, kFrameHeaderBytes - kWordBytes);
    if (publish) tail_->Publish(at, Load32(header));
    return tail_->faulted() ? Fault(segment, at) : Status::Ok();
  }
  Status Fault(const Segment& segment, uint64_t at);
  Status WriteAround(Segment& segment, uint64_t at, uint8_t* header, uint32_t crc,
                     const PayloadParts& payload, bool publish);
  Status WriteWord(Segment& segment, uint64_t at, uint32_t word);
  Status LeaveBytes(Status failure);

  Directory& directory_;
  std::unique_ptr<MappedTail> tail_;
  bool has_leftover_ = false;
  bool broken_ = false;
};

}  // namespace durlog
