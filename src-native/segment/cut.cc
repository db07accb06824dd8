#include "segment/cut.h"

#include <algorithm>

#include "base/bytes.h"
#include "record/record_codec.h"

namespace durlog {
namespace {

// Truncating zeroes the rest of the file system's block.
constexpr uint64_t kBlockBytes = 4096;
// The unit that every device writes as a whole.
constexpr uint64_t kSectorBytes = 512;

}  // namespace

// Truncating within a block is two writes, zeros for the rest of the block and the new size. A
// power cut may keep only the zeros, which would be a gap before records that are known to be
// synced. So the blocks after `offset` are removed first, then the sectors of this block from last
// to first.
Status CutSyncedRecords(SegmentFile& file, uint64_t offset) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, file.handle().Size());
  const uint64_t end = std::max(std::min(AlignUp(offset, kBlockBytes), file_bytes), offset);
  DURLOG_RETURN_IF_ERROR(file.Truncate(end));
  DURLOG_RETURN_IF_ERROR(file.SyncFull());
  static constexpr uint8_t kZeros[kSectorBytes] = {};
  for (uint64_t at = end; at > offset;) {
    const uint64_t begin = std::max(AlignDown(at - 1, kSectorBytes), offset);
    DURLOG_RETURN_IF_ERROR(file.WriteAt(begin, kZeros, static_cast<size_t>(at - begin)));
    DURLOG_RETURN_IF_ERROR(file.SyncData());
    at = begin;
  }
  return file.Cut(offset, file_bytes >= file.segment_bytes());
}

Result<uint64_t> CutInsideVoid(SegmentFile& file, const SegmentHeader& header, uint64_t offset,
                               uint64_t void_seq, uint64_t next_seq) {
  DURLOG_RETURN_IF_ERROR(CutSyncedRecords(file, offset));
  const uint64_t seqs = next_seq - void_seq;
  const uint64_t void_bytes = seqs * kMinRecordFrameBytes;
  uint8_t frame[kFrameHeaderBytes];
  EncodeVoid(void_seq, static_cast<uint32_t>(seqs),
             static_cast<uint32_t>(void_bytes - kFrameHeaderBytes), header.crc_seed(), frame);
  DURLOG_RETURN_IF_ERROR(file.WriteAt(offset, frame, sizeof frame));
  DURLOG_RETURN_IF_ERROR(file.SyncData());
  // The void reaches further than the bytes that were written.
  DURLOG_RETURN_IF_ERROR(CutSyncedRecords(file, offset + void_bytes));
  return offset + void_bytes;
}

}  // namespace durlog
