#include "recovery/apply.h"

#include <algorithm>
#include <utility>

#include "base/aligned_buffer.h"
#include "record/segment_name.h"
#include "segment/cut.h"
#include "segment/open_segment.h"
#include "segment/synced_slot.h"

namespace durlog {
namespace {

constexpr size_t kRewriteStepBytes = 1u << 20;

Status RewriteThroughCache(File& file, uint64_t begin, uint64_t end, AlignedBuffer* buffer) {
  while (begin < end) {
    const size_t step = static_cast<size_t>(std::min<uint64_t>(kRewriteStepBytes, end - begin));
    DURLOG_ASSIGN_OR_RETURN(const size_t read, file.ReadAt(begin, buffer->data(), step));
    if (read == 0) break;
    DURLOG_RETURN_IF_ERROR(file.WriteAt(begin, buffer->data(), read));
    begin += read;
  }
  return file.SyncData();
}

// Writes whole blocks directly. The rest of a file that ends within a block goes through the cache,
// because the file must not grow.
Status RewriteDirectly(File& file, File& direct, uint64_t begin, uint64_t end, uint64_t alignment,
                       AlignedBuffer* buffer) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, file.Size());
  const uint64_t blocks_end = std::min(AlignUp(end, alignment), AlignDown(file_bytes, alignment));
  for (uint64_t at = AlignDown(begin, alignment); at < blocks_end;) {
    const size_t step = static_cast<size_t>(std::min<uint64_t>(kRewriteStepBytes, blocks_end - at));
    DURLOG_ASSIGN_OR_RETURN(const size_t read, file.ReadAt(at, buffer->data(), step));
    if (read < step) return Status::Error(Code::kIo, "the segment became shorter");
    DURLOG_RETURN_IF_ERROR(direct.WriteAt(at, buffer->data(), step));
    at += step;
  }
  DURLOG_RETURN_IF_ERROR(file.DropCache());
  if (end <= blocks_end) return Status::Ok();
  return RewriteThroughCache(file, std::max(begin, blocks_end), end, buffer);
}

// Writes the same bytes over themselves, so that a crash leaves each sector with either version of
// the same bytes. It writes past the cache if possible: if a failed writeback left blocks
// unwritten, ext4 accepts a write through the cache, reports its sync as successful, and reads
// zeros after the next mount.
Status RewriteRange(Directory& directory, const Capabilities& capabilities,
                    const ScannedSegment& segment, uint64_t begin, uint64_t end) {
  AlignedBuffer buffer;
  if (!buffer.Reserve(kRewriteStepBytes, 0)) {
    return Status::Error(Code::kOutOfMemory, "no memory to rewrite the unsynced end");
  }
  const uint64_t alignment = capabilities.direct_alignment;
  if (capabilities.direct_io && alignment <= AlignedBuffer::kAlignment) {
    Result<std::unique_ptr<File>> direct =
        directory.Open(SegmentName(segment.first_seq), OpenMode::kDirect);
    if (direct.ok()) {
      return RewriteDirectly(*segment.file, **direct, begin, end, alignment, &buffer);
    }
    if (direct.status().code() != Code::kUnsupported) return direct.TakeStatus();
  }
  return RewriteThroughCache(*segment.file, begin, end, &buffer);
}

Result<uint64_t> OffsetOfSeq(const ScannedSegment& segment, uint64_t seq) {
  FrameScanner scanner(*segment.file, ContextOf(segment.header, segment.first_seq),
                       segment.scan.end_offset);
  while (scanner.next_seq() < seq && scanner.position() < segment.scan.end_offset) {
    DURLOG_ASSIGN_OR_RETURN(const ScannedFrame frame, scanner.Next());
    if (frame.status != DecodeStatus::kWhole) break;
  }
  return scanner.position();
}

// If its writer was killed, the marker that states that all records are synced may be in the page
// cache only. A direct write after it would leave it there, and leave a gap on the device.
Status SyncKept(Directory& directory, const Capabilities& capabilities,
                const ScannedSegment& segment, uint64_t synced_end) {
  if (segment.from_device || segment.scan.next_seq < synced_end) return Status::Ok();
  uint64_t begin = segment.scan.records_end;
  if (segment.scan.next_seq > synced_end) {
    DURLOG_ASSIGN_OR_RETURN(begin, OffsetOfSeq(segment, synced_end));
  }
  if (begin == segment.scan.end_offset) return Status::Ok();
  return RewriteRange(directory, capabilities, segment, begin, segment.scan.end_offset);
}

}  // namespace

Status ApplyRecovery(Directory& directory, const Capabilities& capabilities, RecoveryPlan* plan) {
  const size_t removed = plan->cuts.empty() ? 0 : plan->cuts.size() - 1;
  const size_t kept = plan->scanned.size() - removed;
  for (size_t i = 0; i < kept; ++i) {
    if (!plan->scanned[i].file) continue;  // evidence, or known to be synced
    DURLOG_RETURN_IF_ERROR(SyncKept(directory, capabilities, plan->scanned[i], plan->synced_end));
  }
  if (!plan->cuts.empty()) {
    DURLOG_RETURN_IF_ERROR(directory.Sync());
    // The bytes that are cut may be the only ones that state how far the log was synced, and later
    // damage before the cut must not be classified as another torn tail.
    const ScannedSegment& holder = plan->scanned[kept - 1];
    Status stated = WriteSyncedSlot(*holder.file, holder.header.crc_seed(), plan->next_seq);
    // A full disk must not prevent the open, without which no trim can free space.
    if (stated.code() != Code::kNoSpace) DURLOG_RETURN_IF_ERROR(std::move(stated));
    plan->synced_end = plan->next_seq;
  }
  for (const Cut& cut : plan->cuts) {
    ScannedSegment& segment = plan->scanned.back();
    if (cut.remove) {
      DURLOG_RETURN_IF_ERROR(segment.file->Close());
      DURLOG_RETURN_IF_ERROR(directory.Remove(cut.name));
      plan->scanned.pop_back();
      plan->files.segments.pop_back();
    } else {
      // The data states that none of it was synced. But the page cache may show the work of a
      // truncation that was killed, while the device still holds synced records.
      SegmentFile file(std::move(segment.file), segment.header.segment_bytes);
      Status shortened = CutSyncedRecords(file, segment.scan.end_offset);
      segment.file = file.Release();
      DURLOG_RETURN_IF_ERROR(std::move(shortened));
    }
  }
  // The files may be the work of a truncation that was killed before its sync. Then the device
  // still holds the records that it cut.
  ScannedSegment& last = plan->scanned.back();
  if (last.unreadable.ok()) DURLOG_RETURN_IF_ERROR(last.file->SyncFull());
  // Always: the newest segment may have been renamed by a process that was killed before it could
  // sync the folder, and no later commit of this writer syncs the folder.
  return directory.Sync();
}

}  // namespace durlog
