#include "log/append_point.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "read/recent_frames.h"
#include "write/unsynced_limit.h"

namespace durlog {

AppendPoint::AppendPoint(FileSystem& file_system, Directory& directory, const LogOptions& options,
                         const Capabilities& capabilities, WritePolicy& policy, SegmentChain& chain)
    : directory_(directory),
      options_(options),
      capabilities_(capabilities),
      policy_(policy),
      chain_(chain),
      time_(file_system),
      mode_(policy.first_mode()),
      frames_(directory),
      staging_(capabilities.direct_alignment) {}

// Another process may cut the log and append to it before this one opens it again.
AppendPoint::~AppendPoint() { ForgetRecent(); }

Status AppendPoint::StoreBatch(const FrameFields& first, const PayloadParts* payloads, size_t count,
                               uint64_t frame_bytes) {
  const uint64_t begin = offset_;
  if (maps()) {
    DURLOG_RETURN_IF_ERROR(frames_.StoreBatch(*segment_, begin, first, payloads, count));
    last_frame_ = begin;
    offset_ = begin + frame_bytes;
    backlog_.MarkDirty(segment_, begin, offset_);
  } else {
    for (size_t i = 0; i < count; ++i) {
      const FrameFields fields = FieldsInBatch(first, i, count, payloads[i].size());
      DURLOG_RETURN_IF_ERROR(Store(fields, payloads[i]));
    }
  }
  if (frame_bytes > PositionIndex::kSpacingBytes) NotePositionsInside(payloads, count, begin);
  return Status::Ok();
}

// Notes a position at which a reader of a later record can start. No batch is open at this
// position, and no reader requests the next record before it is appended.
void AppendPoint::NotePosition() {
  PositionIndex::Shared().Note(segment_->header().salt, {next_seq_, offset_});
  note_from_ = offset_ + PositionIndex::kSpacingBytes;
}

// Notes positions inside a batch whose frames begin at `offset`.
void AppendPoint::NotePositionsInside(const PayloadParts* payloads, size_t count, uint64_t offset) {
  uint64_t note_from = offset + PositionIndex::kSpacingBytes;
  for (size_t i = 0; i < count; ++i) {
    if (offset >= note_from) {
      PositionIndex::Shared().Note(segment_->header().salt, {next_seq_ + i, offset},
                                   PositionIndex::Place::kInsideBatch);
      note_from = offset + PositionIndex::kSpacingBytes;
    }
    offset += FrameBytes(payloads[i].size());
  }
}

Status AppendPoint::Activate() {
  if (segment_->active()) return Status::Ok();
  DURLOG_RETURN_IF_ERROR(segment_->Activate(directory_));
  chain_.NoteActivated(*segment_);
  return Status::Ok();
}

Status AppendPoint::Map(TailLegacy legacy) {
  DURLOG_RETURN_IF_ERROR(Activate());
  Status allocated = segment_->file().Allocate();
  if (!allocated.ok()) {
    if (allocated.code() != Code::kUnsupported) return allocated;
    policy_.RefuseMap();
    if (maps()) {
      mode_ = WriteMode::kPwrite;
      // A commit that is rolled back must not take back records that were stored into a map.
      staging_.Restart(position());
    }
    return Status::Ok();
  }
  if (!maps()) ++mode_switches_;
  mode_ = WriteMode::kMmap;
  frames_.Map(segment_, offset_, Shape(), executor_, std::move(legacy));
  return Status::Ok();
}

TailShape AppendPoint::Shape() const {
  TailShape shape;
  shape.map_alignment = capabilities_.map_alignment;
  shape.window_bytes = options_.chunk_bytes;
  while (shape.window_bytes > segment_->bytes()) shape.window_bytes /= 2;
  shape.populating = policy_.PopulatesWith(segment_->header().recycled);
  return shape;
}

// The log's first segment may stay its only one, so little of it is mapped. The next segment
// follows a stream of records, so more of it is mapped.
uint64_t AppendPoint::first_chunk_bytes() const {
  if (!maps()) return 0;
  return frames_.mapped() ? frames_.lead_bytes() : Shape().chunk_bytes();
}

std::shared_ptr<Segment> AppendPoint::GiveUpSegment() {
  frames_.Unmap();
  return segment_;
}

void AppendPoint::Enter(std::shared_ptr<Segment> next) {
  if (!at_segment_start()) backlog_.Seal(segment_);
  ForgetRecent();
  segment_ = std::move(next);
  offset_ = note_from_ = kSegmentHeaderBytes;
  last_frame_ = 0;
  last_time_ms_ = 0;
}

void AppendPoint::Resume(LogPosition position) {
  ForgetRecent();
  next_seq_ = position.seq;
  segment_ = position.segment;
  offset_ = note_from_ = position.offset;
  last_frame_ = 0;
  last_time_ms_ = position.last_time_ms;
  frames_.Unmap();
  staging_.Restart(std::move(position));
  backlog_.Unseal(segment_->first_seq());
}

void AppendPoint::ResumeAfterCut(LogPosition position) {
  Resume(std::move(position));
  backlog_.Clear();
  PositionIndex::Shared().ForgetFrom(segment_->header().salt, next_seq_);
}

void AppendPoint::NoteWritten(const CommitPlan& plan) {
  if (plan.mode != WriteMode::kDirect) return;
  for (const StagedPiece& piece : plan.group.pieces) {
    if (piece.segment != segment_) continue;
    const uint8_t* const frames = piece.buffer.data() + (piece.begin - piece.buffer_offset);
    const std::optional<FileId> id = segment_->id();
    if (!id) continue;
    recent_key_ = RecentFrames::KeyOf(segment_->header().salt, *id);
    RecentFrames::Shared().Note(*recent_key_, piece.begin,
                                Bytes{frames, static_cast<size_t>(piece.end - piece.begin)});
  }
}

void AppendPoint::ForgetRecent() {
  if (recent_key_) RecentFrames::Shared().Forget(*recent_key_);
  recent_key_.reset();
}

void AppendPoint::RollBack(const StagedGroup& group) {
  staging_.Discard(directory_);
  for (const StagedPiece& piece : group.pieces) backlog_.Forget(piece.segment.get(), piece.begin);
  Resume(group.start);
  PositionIndex::Shared().ForgetFrom(segment_->header().salt, next_seq_);
}

CommitPlan AppendPoint::PlanCommit(Level level, bool closing) {
  const bool direct = mode_ == WriteMode::kDirect;
  CommitPlan plan;
  plan.mode = mode_;
  // A direct write is durable at any level.
  plan.level = direct ? std::max(level, Level::kSync) : level;
  plan.direct_alignment = capabilities_.direct_alignment;
  plan.map_alignment = capabilities_.map_alignment;
  plan.zero_ahead = policy_.ZerosAhead(plan.level);
  plan.group = staging_.Take(position(), direct);
  if (!direct) {
    for (const StagedPiece& piece : plan.group.pieces) {
      backlog_.MarkDirty(piece.segment, piece.begin, piece.end);
    }
  }
  if (plan.group.has_records()) policy_.NoteCommit(level);
  // The log stays in the map while a worker is dirtying the pages ahead.
  const bool leaves_map = maps() && plan.level >= Level::kSync && plan.group.has_records() &&
                          policy_.LeavesMap() && frames_.mapped() && !frames_.populating() &&
                          !closing;
  AddTargets(&plan, leaves_map);
  if (leaves_map) {
    // The worker unmaps the file after its sync.
    plan.retired_tail = frames_.Retire();
    mode_ = WriteMode::kDirect;
    staging_.ForgetLastBlock();
    ++mode_switches_;
  }
  return plan;
}

void AppendPoint::AddTargets(CommitPlan* plan, bool leaves_map) {
  plan->targets = backlog_.TargetsFor(plan->level);
  // The whole file is synced before direct writes begin: a page of zeros that is written back later
  // would overwrite their records.
  for (SyncTarget& target : plan->targets) {
    target.range_only = frames_.mapped() && !leaves_map && target.segment == segment_;
    if (target.range_only) target.maps = frames_.Mapped();
  }
  if (plan->level < Level::kFull) return;
  for (const StagedPiece& piece : plan->group.pieces) AddFullTarget(piece.segment, &plan->targets);
  if (segment_->active()) AddFullTarget(segment_, &plan->targets);
}

bool AppendPoint::TooMuchUnsynced() const {
  return ReachesUnsyncedLimit(backlog_.segment_count(), backlog_.segment_bytes()) ||
         staging_.segment_count() >= kMaxUnsyncedSegments;
}

}  // namespace durlog
