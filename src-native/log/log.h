// The writer of a log.
//
// Threads: every method is called by one thread, the log's own. What blocks is done by jobs on
// the executor's workers, which touch nothing but what they were given; the log picks up their
// results in Harvest(). So there is no lock, and no state that two threads share.
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
#include "log/ack_ledger.h"
#include "log/commit_job.h"
#include "log/log_listener.h"
#include "log/log_position.h"
#include "log/log_stats.h"
#include "log/log_writer.h"
#include "log/options.h"
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

namespace durlog {

class Log final : public LogWriter {
 public:
  // Blocking: locks, recovers, creates. The log has no executor yet: Attach() comes next.
  static Result<std::unique_ptr<Log>> Open(FileSystem& file_system, const std::string& path,
                                           const LogOptions& options);
  // Waits for the jobs that are out. Does not sync: see PrepareClose().
  ~Log() override;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Both outlive the log.
  void Attach(Executor* executor, LogListener* listener) override;

  // Frames and copies the record, and returns its seq. Refused: kRecordEmpty, kRecordTooLarge,
  // kLatched, kClosed; kBackpressure where nothing was done and a later try may succeed; kNoSpace
  // where a mapped segment could not be had. The level is reached when ReachedEnd(level) > seq. An
  // append that finds that a commit was rolled back is refused with kBackpressure, after the
  // listener has been called: a caller that appends in order can stop before it stores a record
  // after a lost one.
  //
  // A `time_ms` that is not the clock's is kept exactly: where the active segment cannot hold it,
  // as it is before the newest record's or more than 49.7 days after the base time, it begins the
  // next segment.
  Result<uint64_t> Append(Bytes payload, Level level, uint64_t time_ms = kClockTime,
                          uint64_t expected_seq = kAnySeq) override;
  // As Append, for all or none of `count` records, also after a crash. Returns the first seq.
  Result<uint64_t> AppendBatch(const Bytes* payloads, size_t count, Level level,
                               uint64_t time_ms = kClockTime,
                               uint64_t expected_seq = kAnySeq) override;
  // At kMemory when it returns.
  Result<uint64_t> Write(Bytes payload) override;
  // As Write, for all or none of `count` records, also after a crash. Returns the first seq.
  Result<uint64_t> WriteBatch(const Bytes* payloads, size_t count) override;
  // At `level` when it returns; the caller's thread does the commit.
  Result<uint64_t> AppendSync(Bytes payload, Level level, uint64_t time_ms = kClockTime) override;
  // Takes `seqs` seqs, at most kMaxVoidSeqs, that hold no record: as in the log that this one is
  // restored from. At kMemory when it returns; `time_ms` is the time of the record behind them.
  Result<uint64_t> WriteVoid(uint64_t seqs, uint64_t time_ms);
  static constexpr uint64_t kMaxVoidSeqs = 1024;
  // Every record so far is at `level` when it returns; the caller's thread does the commits.
  Status Sync(Level level) override;
  // Asks that everything so far reach `level`.
  void RequestSync(Level level) override;

  // Starts a commit unless one is out or none is wanted.
  void Pump() override;
  // Picks up what jobs have done. Cheap when there is nothing.
  void Harvest() override;

  // Removes the segments all of whose records are below `seq`. Null where there is none.
  std::shared_ptr<TrimJob> BeginTrim(uint64_t seq);
  void FinishTrim(const TrimJob& job);
  // What `policy` would trim now. No trim and no truncation begins before the job is done, and one
  // such job is out at a time.
  std::shared_ptr<RetentionJob> BeginRetention(const RetentionPolicy& policy);
  // Cuts the records from `next_seq` on. Nothing may be pending; appends answer kBackpressure
  // until FinishTruncate.
  Result<std::shared_ptr<TruncateJob>> BeginTruncate(uint64_t next_seq);
  Status FinishTruncate(TruncateJob& job);
  // Seals the active segment: what is appended from now on goes into the next one. Nothing may be
  // pending; appends answer kBackpressure until FinishRotate. Null where it holds no record.
  Result<std::shared_ptr<RotateJob>> BeginRotate();
  Status FinishRotate(RotateJob& job);
  // No append from here on; marks the end, so that the next open knows everything is synced.
  // idle() is true when that is done.
  void PrepareClose() override;

  bool idle() const override { return commit_ == nullptr && !CommitWanted(); }
  bool latched() const { return latched_; }
  // That of the first segment that no trim is removing.
  uint64_t first_seq() const { return std::max(trimming_to_, chain_.first_seqs().front()); }
  uint64_t next_seq() const { return next_seq_; }
  // Every record below it has reached `level`.
  uint64_t ReachedEnd(Level level) const { return acks_.ReachedEnd(level); }
  uint64_t pending_bytes() const { return staging_.pending_bytes(); }
  const LogOptions& options() const override { return options_; }
  const RecoveryReport& recovery() const override { return recovery_; }
  const LogUuid& uuid() const override { return uuid_; }
  LogStats Stats() const override;
  LogEnds Ends() const override { return EndsOf(*this); }

 private:
  // Large enough that a commit of it costs little more than one of less.
  static constexpr uint64_t kMinEagerCommitBytes = 128 << 10;
  // A word of zero is free space: a frame that is being stored is invisible until its word is.
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
  Status Rotate();
  Status RotateMapped();
  std::shared_ptr<Segment> TakeReplaced();
  void EnterSegment(std::shared_ptr<Segment> next);
  void RequestSpare();
  void DropUnfitSpare();
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
  // What readers elsewhere may see. A truncation that is out has lowered the ends already.
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
  std::shared_ptr<SegmentSurvey> survey_;  // null until retention asks, and after a truncation
  std::vector<SealedSegment> sealed_;      // since it was asked last
  const std::shared_ptr<CursorSyncs> cursor_syncs_ = std::make_shared<CursorSyncs>();

  // The append point.
  WriteMode mode_;
  std::shared_ptr<Segment> active_;
  uint64_t append_offset_ = 0;
  uint64_t next_seq_ = 0;
  std::unique_ptr<MappedTail> tail_;  // kMmap only
  std::shared_ptr<Job> left_run_;     // of the tail before: see TailLegacy
  uint64_t note_from_ = 0;            // the offset from which a position is worth noting
  uint32_t last_time_ms_ = 0;         // of the active segment's last frame
  uint32_t frame_time_ms_ = 0;        // of the frames at hand, which may still be refused
  uint64_t now_ms_ = 0;               // the clock when it was last read
  uint64_t record_ms_ = 0;            // the time of the record at hand
  bool exact_time_ = false;           // given by the caller, and kept as it is
  uint32_t clock_credit_ = 0;         // appends until it is read again

  // The commit that is out. While there is none, the next append or Pump() may begin one.
  std::shared_ptr<CommitJob> commit_;
  uint64_t last_commit_micros_ = 0;
  uint64_t last_commit_ended_micros_ = 0;  // of records; 0 before the first
  RollingHistogram commit_micros_;
  RollingHistogram commit_records_;
  uint64_t eager_commit_bytes_ = kMinEagerCommitBytes;  // see CommitEagerly()
  uint64_t rollbacks_ = 0;                              // commits that were undone
  Status failure_;                                      // of the last commit that failed
  uint64_t failed_from_ = UINT64_MAX;                   // and the first seq that it lost

  uint64_t trimming_to_ = 0;  // where the log begins when the trim that is out is done
  bool latched_ = false;
  bool closing_ = false;
  bool exclusive_ = false;    // a truncation or a rotation is out: the files are its own
  bool end_marked_ = false;   // the log's last frame is a marker, or the log is new
  bool marking_end_ = false;  // that marker is on its way
};

}  // namespace durlog

#endif  // DURLOG_LOG_LOG_H_
