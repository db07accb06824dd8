// A segment that several writers append to at the same time, mapped as a whole.
//
// Its frames follow each other without a gap, and the place where a frame begins never changes. A
// writer that finds a word of zero at the end of the last frame may reserve from there, and only
// from there. So a writer that was stopped continues correctly from the end of any frame that it
// knew.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/shared_word.h"
#include "platform/file_system.h"
#include "record/segment_header.h"
#include "segment/open_segment.h"
#include "shared/read_back.h"

namespace durlog {

class SharedSegment {
 public:
  // The segment must have the version for several writers, belong to the log `uuid`, and have all
  // its blocks. If `held` is the same file, opened before any record was stored there, this open is
  // used. `recovered_end` is as for ReadBack::IfNeeded().
  static Result<std::shared_ptr<SharedSegment>> Open(Directory& directory, uint64_t first_seq,
                                                     const LogUuid& uuid, uint64_t recovered_end,
                                                     OpenedSegment* held);

  uint64_t first_seq() const { return first_seq_; }
  const SegmentHeader& header() const { return header_; }
  uint64_t bytes() const { return header_.segment_bytes; }
  uint32_t crc_seed() const { return crc_seed_; }
  File& file() { return *file_; }
  Mapping& mapping() { return *mapping_; }
  uint8_t* At(uint64_t offset) { return data_ + offset; }
  // Eight bytes of a frame; `offset` is a multiple of eight.
  SharedWord& WordAt(uint64_t offset) { return *reinterpret_cast<SharedWord*>(data_ + offset); }
  // Stores a frame's header without its first eight bytes.
  void StoreHeaderRest(uint64_t offset, const uint8_t* header) {
    WordAt(offset + 8).store(Load64(header + 8), std::memory_order_relaxed);
    WordAt(offset + 16).store(Load64(header + 16), std::memory_order_relaxed);
  }
  // True if a store or load met a page that could not be read or written. This member may then see
  // bytes that no other member sees, so it must not use any byte of the segment.
  bool faulted() const { return mapping_->faulted(); }
  // The check that a sync by this member needs. Null if every failed writeback is reported to this
  // open of the file. Held with Member::syncing().
  ReadBack* read_back() { return read_back_.get(); }
  // Notes that another member's sync has shown that no writeback had failed before this open.
  void TrustSyncs() { read_back_.reset(); }
  // Called before a sync; no member may store before `offset` any more. Callable from any thread.
  void DropBefore(uint64_t offset);

 private:
  SharedSegment(uint64_t first_seq, const SegmentHeader& header, std::unique_ptr<File> file,
                std::unique_ptr<Mapping> mapping)
      : first_seq_(first_seq),
        header_(header),
        crc_seed_(header.crc_seed()),
        file_(std::move(file)),
        mapping_(std::move(mapping)),
        data_(mapping_->data()) {}

  const uint64_t first_seq_;
  const SegmentHeader header_;
  const uint32_t crc_seed_;
  const std::unique_ptr<File> file_;
  const std::unique_ptr<Mapping> mapping_;
  uint8_t* const data_;
  std::unique_ptr<ReadBack> read_back_;
  std::atomic<uint64_t> dropped_to_{0};
};

}  // namespace durlog
