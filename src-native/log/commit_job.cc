#include "log/commit_job.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "record/segment_name.h"
#include "segment/synced_slot.h"
#include "write/files_check.h"

namespace durlog {
namespace {

// A commit writes zeros for this many later commits of its size. Then fewer than one commit in a
// hundred writes zeros, and these do not take much longer than others if the records are small.
constexpr uint64_t kZeroAheadCommits = 128;
constexpr uint64_t kMinZeroAheadBytes = 256u << 10;
// A fast disk writes this in half a millisecond. With less, 1,024 appends in flight are slower.
constexpr uint64_t kMaxZeroAheadBytes = 1u << 20;
constexpr uint32_t kMinZeroBlockBytes = 4096;

}  // namespace

void CommitJob::Run() {
  const uint64_t begin = file_system_.MonotonicMicros();
  if (AwaitWrites()) Sync();
  ended_micros_ = file_system_.MonotonicMicros();
  micros_ = ended_micros_ - begin;
}

void CommitJob::Release() {
  plan_ = CommitPlan();
  activated_.clear();
}

void CommitJob::Write() {
  status_ = WritePieces();
  written_ = status_.ok();
  if (written_ || (!untouched_ && !status_.may_be_repeated())) return;
  Status undone = UndoWrites();
  if (undone.ok()) {
    outcome_ = CommitOutcome::kRolledBack;
  } else {
    status_ = std::move(undone);
  }
}

void CommitJob::Sync() {
  status_ = SyncTargets();
  // A process that has found no lock may have opened the log and cut what was not on the device.
  if (status_.ok() && plan_.level >= Level::kSync) {
    status_ = CheckNamed(directory_, kLockName, plan_.lock);
  }
  if (status_.ok() && plan_.ending) status_ = StateEnd();
  // The maps are released before the job is done, because the file may be cut after that.
  plan_.retired_tail.reset();
  for (SyncTarget& target : plan_.targets) target.maps.clear();
  if (status_.ok()) outcome_ = CommitOutcome::kDone;
}

Status CommitJob::WritePieces() {
  for (StagedPiece& piece : plan_.group.pieces) {
    DURLOG_RETURN_IF_ERROR(OpenSegment(piece.segment));
    DURLOG_RETURN_IF_ERROR(piece.segment->file().DropFirstChunk());
    DURLOG_RETURN_IF_ERROR(WritePiece(piece));
  }
  return Status::Ok();
}

// Preparing a spare and opening a file change nothing in the log. If one of them fails, for example
// because there is no descriptor, the group can be rolled back whatever the error is.
Status CommitJob::OpenSegment(const std::shared_ptr<Segment>& segment) {
  if (!segment->active()) {
    untouched_ = true;
    DURLOG_RETURN_IF_ERROR(segment->AwaitSpare(directory_));
    untouched_ = false;
    DURLOG_RETURN_IF_ERROR(segment->Activate(directory_));
    activated_.push_back(segment);
  }
  if (plan_.mode != WriteMode::kDirect) return Status::Ok();
  untouched_ = true;
  DURLOG_RETURN_IF_ERROR(segment->OpenDirect(directory_, DirectMode()));
  untouched_ = false;
  return Status::Ok();
}

// The fsync of `full` covers the earlier writes. If each write waited for the device too, the
// commit would wait twice.
OpenMode CommitJob::DirectMode() const {
  return plan_.level == Level::kFull ? OpenMode::kDirectUnsynced : OpenMode::kDirect;
}

// The journal converts an unwritten extent when a durable write goes into it, which doubles the
// cost of the write. So a small write into such an extent also writes zeros for many later writes.
uint64_t CommitJob::ZerosUntil(const StagedPiece& piece, uint64_t end) const {
  Segment& segment = *piece.segment;
  const uint64_t frame_bytes = piece.end - piece.begin;
  if (!plan_.zero_ahead || end <= segment.file().written_end() ||
      frame_bytes >= CommitPlan::kNoZerosFromBytes) {
    return end;
  }
  const uint64_t ahead =
      std::clamp(kZeroAheadCommits * frame_bytes, kMinZeroAheadBytes, kMaxZeroAheadBytes);
  const uint64_t block = std::max(plan_.direct_alignment, kMinZeroBlockBytes);
  return std::max(end, AlignDown(std::min(end + ahead, segment.bytes()), block));
}

Status CommitJob::WritePiece(StagedPiece& piece) {
  const bool direct = plan_.mode == WriteMode::kDirect;
  const uint64_t end = direct ? AlignUp(piece.end, plan_.direct_alignment) : piece.end;
  const uint64_t zeros_until = ZerosUntil(piece, end);
  Status written = WriteUntil(piece, zeros_until);
  // Without the zeros, the frames may fit.
  const bool lacks_room = written.code() == Code::kNoSpace || written.code() == Code::kOutOfMemory;
  if (lacks_room && zeros_until > end) written = WriteUntil(piece, end);
  DURLOG_RETURN_IF_ERROR(std::move(written));
  if (direct || plan_.level != Level::kAsync) return Status::Ok();
  return piece.segment->file().StartWriteback(piece.begin, piece.end - piece.begin);
}

// Writes the frames, followed by zeros up to `until`.
Status CommitJob::WriteUntil(StagedPiece& piece, uint64_t until) {
  Segment& segment = *piece.segment;
  const size_t length = static_cast<size_t>(until - piece.buffer_offset);
  if (!piece.buffer.Reserve(length, piece.used())) {
    return Status::Error(Code::kOutOfMemory, "there is no memory for the zeros after a group");
  }
  std::memset(piece.buffer.data() + piece.used(), 0, length - piece.used());
  if (plan_.mode == WriteMode::kPwrite) {
    const size_t skip = static_cast<size_t>(piece.begin - piece.buffer_offset);
    DURLOG_RETURN_IF_ERROR(
        segment.file().WriteAt(piece.begin, piece.buffer.data() + skip, length - skip));
  } else {
    // A direct write takes whole blocks, and the next group overwrites the zeros after the last
    // frame. The bytes before the first frame are the same as on the device, so a torn write cannot
    // damage them.
    DURLOG_RETURN_IF_ERROR(
        segment.direct(DirectMode()).WriteAt(piece.buffer_offset, piece.buffer.data(), length));
  }
  segment.file().NoteWritten(until);
  return Status::Ok();
}

// The records are not stored to again, and a sync takes write access from every mapped page: see
// Mapping::DropPages(). A sync of the whole file does so ahead of the append point too.
void CommitJob::DropMappedPages(SyncTarget& target) {
  const bool whole_file = plan_.level == Level::kFull;
  for (const Chunk& map : target.maps) {
    const uint64_t begin = whole_file ? map.begin : std::max(target.begin, map.begin);
    const uint64_t end = whole_file ? map.end : std::min(target.end, map.end);
    if (begin >= end) continue;
    map.mapping->DropPages(static_cast<size_t>(begin - map.begin),
                           static_cast<size_t>(end - begin));
  }
}

Status CommitJob::SyncOne(SyncTarget& target) {
  DropMappedPages(target);
  if (plan_.level == Level::kFull || target.full) return target.segment->file().SyncFull();
  if (plan_.level == Level::kAsync) {
    return target.segment->file().StartWriteback(target.begin, target.end - target.begin);
  }
  if (!target.range_only) return target.segment->file().SyncData();
  const size_t length = static_cast<size_t>(target.end - target.begin);
  for (const Chunk& map : target.maps) {
    if (target.begin < map.begin || target.end > map.end) continue;
    return map.mapping->Sync(static_cast<size_t>(target.begin - map.begin), length);
  }
  // One call for the whole range, as each flushes the device. No page of this map is touched.
  File& file = target.segment->file().handle();
  const uint64_t begin = AlignDown(target.begin, plan_.map_alignment);
  const Result<std::unique_ptr<Mapping>> map =
      file.Map(begin, static_cast<size_t>(target.end - begin));
  if (!map.ok()) return file.SyncData();
  return (*map)->Sync(static_cast<size_t>(target.begin - begin), length);
}

Status CommitJob::SyncTargets() {
  if (plan_.level < Level::kAsync) return Status::Ok();
  bool entries_synced = true;
  for (SyncTarget& target : plan_.targets) {
    Status synced = SyncOne(target);
    // A map that was made before the file got its name reports the name of the spare.
    if (!synced.ok()) return std::move(synced).WithPath(directory_.PathOf(target.segment->name()));
    entries_synced = entries_synced && target.segment->entry_synced;
  }
  if (plan_.level < Level::kSync) return Status::Ok();
  for (const StagedPiece& piece : plan_.group.pieces) {
    entries_synced = entries_synced && piece.segment->entry_synced;
  }
  if (entries_synced) return Status::Ok();
  // A record is durable only if the name of its file is.
  DURLOG_RETURN_IF_ERROR(directory_.Sync());
  for (SyncTarget& target : plan_.targets) target.segment->entry_synced = true;
  for (StagedPiece& piece : plan_.group.pieces) piece.segment->entry_synced = true;
  return Status::Ok();
}

Status CommitJob::StateEnd() {
  Segment& segment = *plan_.ending;
  if (!segment.active()) return Status::Ok();
  return RaiseSyncedSlot(segment.file().handle(), segment.crc_seed(), plan_.group.end_seq);
}

// Removes everything of the group that was written, so that none of it can follow a later frame.
// Starts with the newest segment, so that no gap is ever visible.
Status CommitJob::UndoWrites() {
  // A segment that has replaced an empty one under the same name cannot be removed. It stays, and
  // appending continues in it.
  const bool replaced = !activated_.empty() &&
                        activated_.front()->first_seq() == plan_.group.start.segment->first_seq();
  for (size_t i = activated_.size(); i-- > (replaced ? 1u : 0u);) {
    DURLOG_RETURN_IF_ERROR(directory_.Remove(activated_[i]->name()));
  }
  if (!activated_.empty()) DURLOG_RETURN_IF_ERROR(directory_.Sync());
  for (StagedPiece& piece : plan_.group.pieces) piece.segment->Discard(directory_);
  if (replaced) {
    plan_.group.start.segment = activated_.front();
    plan_.group.start.segment->entry_synced = true;
    plan_.group.start.offset = kSegmentHeaderBytes;
    plan_.group.start.last_time_ms = 0;
    return plan_.group.start.segment->file().Cut(plan_.group.start.offset);
  }
  const StagedPiece& first = plan_.group.pieces.front();
  for (const std::shared_ptr<Segment>& segment : activated_) {
    if (segment == first.segment) return Status::Ok();
  }
  if (!first.segment->active()) return Status::Ok();
  return first.segment->file().Cut(first.begin);
}

}  // namespace durlog
