// The growing end of a log: the place of the next record, and the records that are not synced yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/executor.h"
#include "log/commit_job.h"
#include "log/mapped_frames.h"
#include "log/record_time.h"
#include "log/segment_chain.h"
#include "log/staging.h"
#include "log/sync_backlog.h"
#include "log/write_policy.h"
#include "platform/file_system.h"
#include "read/position_index.h"
#include "record/record_codec.h"
#include "segment/segment.h"

namespace durlog {

// A frame is stored into a map of the segment or staged for the next commit, depending on mode(). A
// commit takes the staged frames and the ranges that it has to sync with PlanCommit(). If it is
// rolled back, the append point returns to the position before those frames.
class AppendPoint {
 public:
  // All arguments must outlive the point. It has no position before the first Resume().
  AppendPoint(FileSystem& file_system, Directory& directory, const LogOptions& options,
              const Capabilities& capabilities, WritePolicy& policy, SegmentChain& chain);
  ~AppendPoint();
  AppendPoint(const AppendPoint&) = delete;
  AppendPoint& operator=(const AppendPoint&) = delete;
  void Attach(Executor* executor) { executor_ = executor; }

  const std::shared_ptr<Segment>& segment() const { return segment_; }
  uint64_t offset() const { return offset_; }
  // The offset of the newest frame, or of the newest batch, that was stored; 0 if none was since
  // the segment was entered.
  uint64_t last_frame() const { return last_frame_; }
  uint64_t next_seq() const { return next_seq_; }
  WriteMode mode() const { return mode_; }
  bool maps() const { return mode_ == WriteMode::kMmap; }
  // Whether the segment holds no record.
  bool at_segment_start() const { return segment_->first_seq() == next_seq_; }
  // The time of the newest record; the segment's base time if it holds none.
  uint64_t newest_ms() const { return segment_->header().base_time_ms + last_time_ms_; }
  // The time of the next record. Set before Fits().
  RecordTime& time() { return time_; }

  // Whether `frame_bytes` of frames with the time that was set may follow in the segment.
  bool Fits(uint64_t frame_bytes) const {
    return offset_ + frame_bytes <= segment_->bytes() &&
           time_.MayFollow(segment_->header().base_time_ms, last_time_ms_);
  }
  // Makes the segment ready for `frame_bytes` of frames, which must fit into it.
  Status Prepare(uint64_t frame_bytes) {
    if (frames_.mapped()) return Status::Ok();
    if (maps()) DURLOG_RETURN_IF_ERROR(Map());
    return maps() ? Status::Ok() : staging_.Reserve(segment_.get(), frame_bytes);
  }
  // Makes room to stage frames in the next segment. Called before a rotation, which could not be
  // undone.
  Status PrepareNext(uint64_t frame_bytes) {
    return maps() ? Status::Ok() : staging_.Reserve(nullptr, frame_bytes);
  }

  // The fields of the next record's frame. Every record below `synced_end` is on the device.
  // Requires Fits().
  FrameFields NextFields(size_t payload_bytes, uint64_t synced_end) {
    frame_time_ms_ = time_.InFrame(segment_->header().base_time_ms, last_time_ms_);
    FrameFields fields;
    fields.state = FrameState::kCommitted;
    fields.length = static_cast<uint32_t>(payload_bytes);
    fields.seq = next_seq_;
    // The value is bounded, because only a few segments may be unsynced.
    fields.unsynced = static_cast<uint32_t>(next_seq_ - synced_end);
    fields.time_ms = frame_time_ms_;
    return fields;
  }
  // Stores or stages a frame. Requires Prepare(). After a failure nothing was stored, or
  // has_leftover() or broken() is true: see MappedFrames.
  Status Store(const FrameFields& fields, const PayloadParts& payload) {
    const uint64_t at = offset_;
    if (maps()) {
      DURLOG_RETURN_IF_ERROR(frames_.Store(*segment_, at, fields, payload));
      backlog_.MarkDirty(segment_, at, at + fields.frame_bytes());
    } else {
      DURLOG_RETURN_IF_ERROR(
          staging_.Stage(segment_, at, mode_ == WriteMode::kDirect, fields, payload));
    }
    last_frame_ = at;
    offset_ = at + fields.frame_bytes();
    return Status::Ok();
  }
  // As Store(), for the frames of a batch. `first` holds the fields of the first one.
  Status StoreBatch(const FrameFields& first, const PayloadParts* payloads, size_t count,
                    uint64_t frame_bytes);
  bool has_leftover() const { return frames_.has_leftover(); }
  // No commit may be running.
  void CutLeftover() { frames_.CutLeftover(*segment_, offset_); }
  bool broken() const { return frames_.broken(); }
  // Counts the frames that were stored as `records` records.
  void Advance(uint64_t records) {
    next_seq_ += records;
    last_time_ms_ = frame_time_ms_;
    if (offset_ >= note_from_) NotePosition();
  }
  // Counts frames that a commit brings to their level.
  void CountPending(uint64_t frame_bytes) { staging_.Count(frame_bytes); }

  // Gives the segment its name, if no commit has done so.
  Status Activate();
  // Records are stored into memory from now on, if the file system can allocate the segment's
  // blocks. No direct write may be running: if stores and direct writes worked on one file at a
  // time, the page cache and the device would differ. `legacy` is that of LeaveSegment().
  Status Map(TailLegacy legacy = {});
  // How much of the next segment its spare maps in advance.
  uint64_t first_chunk_bytes() const;
  // Hands over the map, if there is one, to a job that will unmap it before it uses the files.
  std::unique_ptr<MappedTail> RetireMap() { return frames_.Retire(); }
  // Unmaps the segment, which is empty and will be replaced, and returns it.
  std::shared_ptr<Segment> GiveUpSegment();
  // Unmaps the segment, which is full, without waiting.
  TailLegacy LeaveSegment() { return frames_.mapped() ? frames_.Leave() : TailLegacy{}; }
  // Appending continues at the start of `next`. The sealed segment, if it holds records, stays in
  // the backlog until a sync has covered it.
  void Enter(std::shared_ptr<Segment> next);
  // Groups begin at this position: see Staging::MoveStart().
  void MoveGroupStart() { staging_.MoveStart(position()); }
  // Appending continues at `position`. Nothing is staged.
  void Resume(LogPosition position);
  // As Resume(), after a cut. Everything before `position` is on the device.
  void ResumeAfterCut(LogPosition position);
  void ForgetUnsynced(const Segment* segment) { backlog_.Forget(segment); }

  // Returns the frames and ranges that a commit has to write and to sync. If the commit leaves the
  // map, records are written directly from the next group on. `closing`: no further record is
  // appended.
  CommitPlan PlanCommit(Level level, bool closing);
  // Notes that the commit of `plan` has succeeded. Keeps its frames for followers in this process.
  void NoteWritten(const CommitPlan& plan);
  // Notes that the commit that has taken `targets` has synced them.
  void NoteSynced(const std::vector<SyncTarget>& targets) { backlog_.Settle(targets); }
  // Drops the staged frames, and returns to the start of `group`, which a commit has rolled back.
  void RollBack(const StagedGroup& group);
  // Takes back the buffers of a group whose commit has ended.
  void Settle(StagedGroup& group) { staging_.Settle(group); }
  // Drops the staged frames. No further commit may be made.
  void Abandon() { staging_.Abandon(); }

  // Whether a commit has frames to write.
  bool has_staged() const { return !staging_.empty(); }
  uint64_t group_bytes() const { return staging_.group_bytes(); }
  uint64_t pending_bytes() const { return staging_.pending_bytes(); }
  // No byte of the records from the returned seq on has left this process.
  uint64_t stored_end() const { return maps() ? next_seq_ : staging_.first_seq(); }
  size_t unsynced_segments() const { return backlog_.segment_count(); }
  // Whether a sync must come before the next segment is begun.
  bool TooMuchUnsynced() const;
  // The first seq of the oldest segment that a trim has to keep.
  uint64_t oldest_unsynced() const { return backlog_.OldestSegment(segment_->first_seq()); }
  uint64_t mode_switches() const { return mode_switches_; }

 private:
  LogPosition position() const { return LogPosition{next_seq_, segment_, offset_, last_time_ms_}; }
  TailShape Shape() const;
  void AddTargets(CommitPlan* plan, bool leaves_map);
  void NotePosition();
  void NotePositionsInside(const PayloadParts* payloads, size_t count, uint64_t offset);
  void ForgetRecent();

  Directory& directory_;
  const LogOptions& options_;
  const Capabilities& capabilities_;
  WritePolicy& policy_;
  SegmentChain& chain_;
  Executor* executor_ = nullptr;

  std::shared_ptr<Segment> segment_;
  uint64_t offset_ = 0;
  uint64_t last_frame_ = 0;
  uint64_t next_seq_ = 0;
  uint32_t last_time_ms_ = 0;   // of the segment's last frame
  uint32_t frame_time_ms_ = 0;  // of the frames being appended, which may still be refused
  RecordTime time_;
  uint64_t note_from_ = 0;  // the offset from which a position is worth noting
  // Of the frames that were kept for followers. Not computed again from the segment, which the
  // running commit may be activating.
  std::optional<uint64_t> recent_key_;

  WriteMode mode_;
  uint64_t mode_switches_ = 0;
  MappedFrames frames_;
  Staging staging_;
  SyncBacklog backlog_;
};

}  // namespace durlog
