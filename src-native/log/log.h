// The writer of a log.
//
// Threads: every method is called by one thread, the log's own. Jobs on the executor's workers do
// everything that blocks. A job uses only the data that it was given, and the log collects its
// result in Harvest(). So there is no lock and no state that two threads share.
#ifndef DURLOG_LOG_LOG_H_
#define DURLOG_LOG_LOG_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/executor.h"
#include "base/histogram.h"
#include "base/job.h"
#include "live/live_page_writer.h"
#include "log/commit_job.h"
#include "log/log_position.h"
#include "log/retention_job.h"
#include "log/rotate_job.h"
#include "log/segment_chain.h"
#include "log/staging.h"
#include "log/sync_backlog.h"
#include "log/trim_job.h"
#include "log/truncate_job.h"
#include "log/write_policy.h"
#include "platform/file_system.h"
#include "record/record_codec.h"
#include "recovery/report.h"
#include "segment/mapped_tail.h"
#include "segment/segment.h"
#include "write/ack_ledger.h"
#include "write/eager_size.h"
#include "write/log_listener.h"
#include "write/log_stats.h"
#include "write/log_writer.h"
#include "write/options.h"
#include "write/record_clock.h"

namespace durlog {

class Log final : public LogWriter {
 public:
  // Blocking: locks, recovers, creates. The log has no executor yet: Attach() comes next.
  static Result<std::unique_ptr<Log>> Open(FileSystem& file_system, const std::string& path,
                                           const LogOptions& options);
  // Waits for the running jobs. Does not sync: see PrepareClose().
  ~Log() override;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Both must outlive the log.
  void Attach(Executor* executor, LogListener* listener) override;

  // Frames and copies the record, and returns its seq. Fails with kRecordEmpty, kRecordTooLarge,
  // kLatched or kClosed; with kBackpressure if nothing was done and a later try may succeed; with
  // kNoSpace if no mapped segment could be allocated. The record has reached `level` once
  // ReachedEnd(level) > seq. If an append finds that a commit was rolled back, it fails with
  // kBackpressure after the listener has been called. So a caller that appends in order can stop
  // before it stores a record after a lost one.
  //
  // A `time_ms` other than kClockTime is stored exactly. If it is before the newest record's time,
  // or more than 49.7 days after the active segment's base time, that segment cannot hold it and
  // the record begins the next one.
  Result<uint64_t> Append(Bytes payload, Level level, uint64_t time_ms = kClockTime,
                          uint64_t expected_seq = kAnySeq) override;
  // As Append(), for `count` records: all or none are in the log, also after a crash. Returns the
  // first seq.
  Result<uint64_t> AppendBatch(const Bytes* payloads, size_t count, Level level,
                               uint64_t time_ms = kClockTime,
                               uint64_t expected_seq = kAnySeq) override;
  // The record is at kMemory when this returns.
  Result<uint64_t> Write(Bytes payload) override;
  // As Write(), for `count` records: all or none are in the log, also after a crash. Returns the
  // first seq.
  Result<uint64_t> WriteBatch(const Bytes* payloads, size_t count) override;
  // The record is at `level` when this returns; the caller's thread does the commit.
  Result<uint64_t> AppendSync(Bytes payload, Level level, uint64_t time_ms = kClockTime) override;
  // Appends a void: `seqs` seqs, at most kMaxVoidSeqs, that hold no record in the log that this one
  // is restored from. The void is at kMemory when this returns. `time_ms` is the time of the next
  // record.
  Result<uint64_t> WriteVoid(uint64_t seqs, uint64_t time_ms);
  static constexpr uint64_t kMaxVoidSeqs = 1024;
  // Every record so far is at `level` when this returns; the caller's thread does the commits.
  Status Sync(Level level) override;
  // Requests `level` for every record so far, without waiting.
  void RequestSync(Level level) override;

  // Starts a commit if one is wanted and none is running.
  void Pump() override;
  // Collects the results of finished jobs. Cheap if there are none.
  void Harvest() override;

  // Begins to remove the segments whose records are all below `seq`. Null if there are none.
  std::shared_ptr<TrimJob> BeginTrim(uint64_t seq);
  void FinishTrim(const TrimJob& job);
  // Begins to compute what `policy` would trim now. The caller begins no trim, truncation or second
  // retention job before this one is done.
  std::shared_ptr<RetentionJob> BeginRetention(const RetentionPolicy& policy);
  // Cuts the records from `next_seq` on. No append may be pending. Appends fail with kBackpressure
  // until FinishTruncate().
  Result<std::shared_ptr<TruncateJob>> BeginTruncate(uint64_t next_seq);
  Status FinishTruncate(TruncateJob& job);
  // Seals the active segment: later appends go into the next one. No append may be pending. Appends
  // fail with kBackpressure until FinishRotate(). Null if the active segment holds no record.
  Result<std::shared_ptr<RotateJob>> BeginRotate();
  Status FinishRotate(RotateJob& job);
  // Refuses appends from now on, and marks the end of the log, so that the next open knows that
  // everything is synced. idle() is true once that is done.
  void PrepareClose() override;

  bool idle() const override { return commit_ == nullptr && !CommitWanted(); }
  bool latched() const { return latched_; }
  // The first seq of the oldest segment that no trim is removing.
  uint64_t first_seq() const { return std::max(trimming_to_, chain_.first_seqs().front()); }
  uint64_t next_seq() const { return next_seq_; }
  // Every record below the result has reached `level`.
  uint64_t ReachedEnd(Level level) const { return acks_.ReachedEnd(level); }
  uint64_t pending_bytes() const { return staging_.pending_bytes(); }
  const LogOptions& options() const override { return options_; }
  const RecoveryReport& recovery() const override { return recovery_; }
  const LogUuid& uuid() const override { return uuid_; }
  LogStats Stats() const override;
  LogEnds Ends() const override { return EndsOf(*this); }

 private:
  // A word of zero marks free space: a frame is invisible until its first word is stored.
  static constexpr size_t kWordBytes = 4;

  Log(FileSystem& file_system, std::unique_ptr<Directory> directory, std::unique_ptr<FileLock> lock,
      Capabilities capabilities, const LogOptions& options);

  // open.cc
  Status Recover();
  Status CreateFirstSegment(uint64_t first_seq);

  // append.cc
  bool Takes(Bytes payload) const;
  Status CheckAppend(Bytes payload) const;
  Status CheckOpen() const;
  Status CheckExclusiveJob() const;
  Result<uint64_t> AppendVoid(uint64_t seqs, uint64_t time_ms);
  Result<uint64_t> CheckBatch(const Bytes* payloads, size_t count) const;
  static Status LatchedError();
  template <typename AppendOnce>
  Result<uint64_t> AppendAwaitingSpare(const AppendOnce& append);
  template <typename AppendOnce>
  Result<uint64_t> WriteWith(const AppendOnce& append);
  Status MakeRoom(uint64_t frame_bytes, uint64_t time_ms);
  void SetRecordTime(uint64_t time_ms);
  bool TakesRecordTime(uint64_t base_time_ms, uint32_t last_time_ms) const;
  FrameFields NextFields(size_t payload_bytes);
  Status StoreFrame(const FrameFields& fields, Bytes payload);
  Status StoreMapped(const FrameFields& fields, Bytes payload, bool publish);
  Status StageFrame(const FrameFields& fields, Bytes payload);
  void NoteAppended(uint64_t frame_bytes, uint64_t records, Level level);
  void NotePosition();
  void NotePositionsInside(const Bytes* payloads, size_t count, uint64_t offset);
  void CommitEagerly();
  Status AppendMarker();

  // mapped_append.cc
  Status StoreMappedBatch(const Bytes* payloads, size_t count);
  Status WriteAround(uint64_t at, uint8_t* header, uint32_t crc, Bytes payload, bool publish);
  Status WriteWord(uint64_t at, uint32_t word);
  Status TakeBack(uint64_t at, Status failure);

  // rotate.cc
  Status CheckExclusive() const;
  Status Rotate(uint64_t frame_bytes);
  Status RotateMapped();
  std::shared_ptr<Segment> TakeReplaced();
  void EnterSegment(std::shared_ptr<Segment> next);
  void RequestSpare(uint64_t frame_bytes);
  void DropUnfitSpare(uint64_t frame_bytes);
  bool TooMuchUnsynced() const;
  Status ActivateHere();
  void NoteSealed();
  void NoteActivated(const Segment& segment);
  TailShape ShapeOf(const SegmentHeader& header) const;
  Status EnsureMapped(TailLegacy legacy = {});
  void ResumeAt(std::shared_ptr<Segment> segment, uint64_t offset, uint32_t last_time_ms);

  // group_commit.cc
  bool CommitWanted() const;
  Level WantedLevel() const;
  CommitPlan MakePlan(Level level);
  void AddTargets(CommitPlan* plan, bool leave_map);
  void LeaveMap(CommitPlan* plan);
  std::shared_ptr<CommitJob> BeginCommit(Level level);
  void FinishCommit();
  void Finish(CommitJob& job);
  void FinishDone(CommitJob& job);
  void FinishRolledBack(CommitJob& job);
  void NoteCommit(CommitJob& job);
  void RunCommitHere();
  void WriteHere();
  Status AwaitLevel(uint64_t seq, Level level);
  void Latch(Status status, uint64_t first_seq, uint64_t unknown_before);

  LogPosition AppendPoint() const {
    return LogPosition{next_seq_, active_, append_offset_, last_time_ms_};
  }
  // Publishes how far readers outside this log may read. Does nothing during a rotation, or during
  // a truncation, which has already lowered the ends.
  void PublishEnds() {
    if (exclusive_) return;
    live_.StoreEnds(first_seq(), acks_.memory_end(), acks_.synced_end());
  }

  FileSystem& file_system_;
  const std::unique_ptr<Directory> directory_;
  std::unique_ptr<FileLock> lock_;
  LivePageWriter live_;  // destroyed before lock_
  const Capabilities capabilities_;
  const LogOptions options_;
  Executor* executor_ = nullptr;
  LogListener* listener_ = nullptr;
  LogUuid uuid_{};
  RecoveryReport recovery_;
  LogStats stats_;

  WritePolicy policy_;
  SegmentChain chain_;
  Staging staging_;
  SyncBacklog backlog_;
  AckLedger acks_;
  std::shared_ptr<SegmentSurvey> survey_;  // null at first, and after a truncation
  std::vector<SealedSegment> sealed_;      // since the last retention job began
  const std::shared_ptr<CursorSyncs> cursor_syncs_ = std::make_shared<CursorSyncs>();

  // The append point.
  WriteMode mode_;
  std::shared_ptr<Segment> active_;
  uint64_t append_offset_ = 0;
  uint64_t next_seq_ = 0;
  std::unique_ptr<MappedTail> tail_;  // kMmap only
  std::shared_ptr<Job> left_run_;     // of the previous tail: see TailLegacy
  uint64_t note_from_ = 0;            // the offset from which a position is worth noting
  uint32_t last_time_ms_ = 0;         // of the active segment's last frame
  uint32_t frame_time_ms_ = 0;        // of the frames being appended, which may still be refused
  RecordClock clock_;
  uint64_t record_ms_ = 0;   // the time of the record being appended
  bool exact_time_ = false;  // the caller gave record_ms_; it is stored exactly

  // The running commit. While it is null, the next append or Pump() may begin one.
  std::shared_ptr<CommitJob> commit_;
  uint64_t last_commit_ended_micros_ = 0;  // of records; 0 before the first
  RollingHistogram commit_micros_;
  RollingHistogram commit_records_;
  EagerSize eager_size_{options_.eager_bytes};
  uint64_t rollbacks_ = 0;             // commits that were undone
  Status failure_;                     // of the last commit that failed
  uint64_t failed_from_ = UINT64_MAX;  // and the first seq that it lost

  uint64_t trimming_to_ = 0;  // the log's first seq once the running trim is done
  bool latched_ = false;
  bool closing_ = false;
  bool exclusive_ = false;    // a truncation or a rotation is running: only it uses the files
  bool end_marked_ = false;   // the log's last frame is a marker, or the log is new
  bool marking_end_ = false;  // that marker is staged or being committed
};

}  // namespace durlog

#endif  // DURLOG_LOG_LOG_H_
