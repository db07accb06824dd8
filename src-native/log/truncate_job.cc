#include "log/truncate_job.h"

#include <algorithm>
#include <string>

#include "cursor/cut_list.h"
#include "record/segment_name.h"
#include "segment/cut.h"
#include "segment/open_segment.h"
#include "segment/scanner.h"
#include "segment/synced_slot.h"

namespace durlog {

void TruncateJob::Run() {
  tail_.reset();
  for (const std::shared_ptr<Segment>& segment : held_) segment->file().LetGo();
  held_.clear();
  status_ = Cut();
}

// Every step that can refuse comes before the first step that changes a file.
Status TruncateJob::Cut() {
  size_t holder = segments_.size() - 1;
  while (holder > 0 && segments_[holder] > next_seq_) --holder;
  const uint64_t first_seq = segments_[holder];
  DURLOG_ASSIGN_OR_RETURN(OpenedSegment opened,
                          OpenSegment(directory_, first_seq, OpenMode::kReadWrite));
  DURLOG_RETURN_IF_ERROR(FindOffset(*opened.file, opened.header, first_seq));
  std::unique_ptr<File> cuts;
  if (next_seq_ < end_) {
    Result<std::unique_ptr<File>> recorded = RecordCut(directory_, opened.header.uuid, next_seq_);
    changed_ = recorded.status().code() == Code::kIo;
    if (!recorded.ok()) return recorded.TakeStatus();
    cuts = std::move(*recorded);
  }
  changed_ = true;
  live_.Cut(next_seq_);
  // All that is kept is synced. The segments and frames that are removed may be the only ones that
  // state this. A void that is cut is removed before a shorter one replaces it.
  const uint32_t crc_seed = opened.header.crc_seed();
  DURLOG_RETURN_IF_ERROR(WriteSyncedSlot(*opened.file, crc_seed, void_seq_.value_or(next_seq_)));
  while (segments_.size() > holder + 1) {
    DURLOG_RETURN_IF_ERROR(directory_.Remove(SegmentName(segments_.back())));
    segments_.pop_back();
  }
  DURLOG_RETURN_IF_ERROR(directory_.Sync());
  SegmentFile file(std::move(opened.file), opened.header.segment_bytes);
  if (void_seq_) {
    DURLOG_ASSIGN_OR_RETURN(offset_,
                            CutInsideVoid(file, opened.header, offset_, *void_seq_, next_seq_));
    DURLOG_RETURN_IF_ERROR(RaiseSyncedSlot(file.handle(), crc_seed, next_seq_));
  } else {
    DURLOG_RETURN_IF_ERROR(CutSyncedRecords(file, offset_));
  }
  if (cuts) DURLOG_RETURN_IF_ERROR(FinishCuts(*cuts));
  segment_ = std::make_shared<Segment>(first_seq, opened.header, std::move(file));
  return Status::Ok();
}

Status TruncateJob::FindOffset(File& file, const SegmentHeader& header, uint64_t first_seq) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, file.Size());
  FrameScanner scanner(file, ContextOf(header, first_seq), file_bytes);
  bool inside_batch = false;
  uint64_t last_offset = scanner.position();
  uint64_t last_seq = first_seq;
  while (scanner.next_seq() < next_seq_) {
    DURLOG_ASSIGN_OR_RETURN(const ScannedFrame frame, scanner.Next());
    if (frame.status != DecodeStatus::kWhole) {
      return Status::Error(Code::kCorrupt, "a record before the cut cannot be read")
          .WithPath(directory_.PathOf(SegmentName(first_seq)))
          .WithOffset(frame.offset)
          .WithLost(scanner.next_seq(), next_seq_ - 1);
    }
    last_offset = frame.offset;
    last_seq = frame.fields.seq;
    inside_batch = frame.fields.continues_batch();
    last_time_ms_ = std::max(last_time_ms_, frame.fields.time_ms);
  }
  if (inside_batch) {
    return Status::Error(Code::kInvalidArgument,
                         "seq " + std::to_string(next_seq_ - 1) +
                             " is inside an atomic batch: cut before or after the batch");
  }
  offset_ = scanner.position();
  if (scanner.next_seq() > next_seq_) {
    offset_ = last_offset;
    void_seq_ = last_seq;
  }
  return Status::Ok();
}

}  // namespace durlog
