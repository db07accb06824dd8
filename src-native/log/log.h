// The writer of a log.
//
// Threads: every method is called by one thread, the log's own. Jobs on the executor's workers do
// everything that blocks. A job uses only the data that it was given, and the log collects its
// result in Harvest(). So there is no lock and no state that two threads share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/executor.h"
#include "live/live_page_writer.h"
#include "log/append_point.h"
#include "log/commit_cycle.h"
#include "log/retention_job.h"
#include "log/rotate_job.h"
#include "log/segment_chain.h"
#include "log/trim_job.h"
#include "log/truncate_job.h"
#include "log/write_policy.h"
#include "platform/file_system.h"
#include "record/record_codec.h"
#include "recovery/report.h"
#include "segment/segment.h"
#include "write/files_watch.h"
#include "write/log_listener.h"
#include "write/log_state.h"
#include "write/log_stats.h"
#include "write/log_writer.h"
#include "write/options.h"

namespace durlog {

class Log final : public LogWriter {
 public:
  // Blocking: locks, recovers or creates the log. It has no executor until Attach() is called.
  static Result<std::unique_ptr<Log>> Open(FileSystem& file_system, const std::string& path,
                                           const LogOptions& options);
  // Waits for the running jobs. Does not sync: see PrepareClose().
  ~Log() override = default;
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
  Result<uint64_t> AppendBatch(const PayloadParts* payloads, size_t count, Level level,
                               uint64_t time_ms = kClockTime,
                               uint64_t expected_seq = kAnySeq) override;
  // The record is at kMemory when this returns.
  Result<uint64_t> Write(Bytes payload) override;
  // As Write(), for `count` records: all or none are in the log, also after a crash. Returns the
  // first seq.
  Result<uint64_t> WriteBatch(const PayloadParts* payloads, size_t count) override;
  // The record is at `level` when this returns; the caller's thread does the commit.
  Result<uint64_t> AppendSync(Bytes payload, Level level, uint64_t time_ms = kClockTime) override;
  bool HasRoom() const override;
  // Appends a void of `seqs` seqs, at most kMaxVoidSeqs. The log that this log is restored from has
  // no records with these seqs. The void is at kMemory when this returns. `time_ms` is the time of
  // the next record.
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
  void CheckFiles() override;

  // Begins to remove the segments whose records are all below `seq`. Null if there are none.
  std::shared_ptr<TrimJob> BeginTrim(uint64_t seq);
  void FinishTrim(const TrimJob& job);
  // Begins to compute what `policy` would trim now. The caller begins no trim, truncation or second
  // retention job before this one is done.
  std::shared_ptr<RetentionJob> BeginRetention(const RetentionPolicy& policy);
  // Cuts the records from `next_seq` on, after a running commit has ended and every record is
  // synced: see Sync(). Appends fail with kBackpressure until FinishTruncate().
  Result<std::shared_ptr<TruncateJob>> BeginTruncate(uint64_t next_seq);
  Status FinishTruncate(TruncateJob& job);
  // Seals the active segment: later appends go into the next one. Waits as BeginTruncate() does.
  // Appends fail with kBackpressure until FinishRotate(). Null if the active segment holds no
  // record.
  Result<std::shared_ptr<RotateJob>> BeginRotate();
  Status FinishRotate(RotateJob& job);
  // Refuses appends from now on, and states in the log that everything is synced, for the next
  // open. idle() is true once that is done.
  void PrepareClose() override;

  bool idle() const override { return commits_.idle(); }
  bool latched() const { return state_.latched(); }
  // The first seq of the oldest segment that no trim is removing.
  uint64_t first_seq() const { return chain_.first_seq(); }
  uint64_t next_seq() const { return point_.next_seq(); }
  // Every record below the result has reached `level`.
  uint64_t ReachedEnd(Level level) const { return commits_.acks().ReachedEnd(level); }
  uint64_t pending_bytes() const { return point_.pending_bytes(); }
  const LogOptions& options() const override { return options_; }
  const RecoveryReport& recovery() const override { return recovery_; }
  const LogUuid& uuid() const override { return uuid_; }
  LogStats Stats() const override;
  LogEnds Ends() const override { return EndsOf(*this); }

 private:
  Log(FileSystem& file_system, std::unique_ptr<Directory> directory, std::unique_ptr<FileLock> lock,
      Capabilities capabilities, const LogOptions& options);

  // open.cc
  Status Recover();
  Status CreateFirstSegment(uint64_t first_seq);

  // log.cc
  void FinishFilesCheck();

  // append.cc
  bool Accepts(Bytes payload) const;
  Status CheckAppend(Bytes payload) const;
  Result<uint64_t> CheckBatch(const PayloadParts* payloads, size_t count) const;
  void CommitEagerly();
  bool ExceedsPending(uint64_t frame_bytes) const;
  Status MakeRoom(uint64_t frame_bytes, uint64_t time_ms, uint64_t seqs);
  FrameFields NextFields(size_t payload_bytes);
  void NoteAppended(uint64_t frame_bytes, uint64_t records, Level level);
  Result<uint64_t> AppendVoid(uint64_t seqs, uint64_t time_ms);
  template <typename AppendOnce>
  Result<uint64_t> AppendAwaitingSpare(const AppendOnce& append);
  template <typename AppendOnce>
  Result<uint64_t> WriteWith(const AppendOnce& append);

  // rotate.cc
  uint64_t EvidenceToKeep() const;
  void RequestSpare(uint64_t frame_bytes);
  void DropUnfitSpare(uint64_t frame_bytes);
  Status Rotate(uint64_t frame_bytes);
  Status RotateMapped(uint64_t frame_bytes);
  std::shared_ptr<Segment> TakeReplaced();
  void EnterSegment(std::shared_ptr<Segment> next);

  FileSystem& file_system_;
  const std::unique_ptr<Directory> directory_;
  std::unique_ptr<FileLock> lock_;
  LivePageWriter live_;  // destroyed before lock_
  const Capabilities capabilities_;
  const LogOptions options_;
  Executor* executor_ = nullptr;
  LogUuid uuid_{};
  RecoveryReport recovery_;

  const std::optional<FileId> lock_id_;  // nullopt if the file system keeps no identities
  LogState state_;
  WritePolicy policy_;
  SegmentChain chain_;   // destroyed before live_: its jobs store ends
  AppendPoint point_;    // destroyed before chain_
  CommitCycle commits_;  // destroyed first: the running commit uses the segments
  RetentionInputs retention_;
  const std::optional<FileId> folder_id_;
  FilesWatch files_;  // destroyed before directory_
  // Whether a sealed segment, which closes its file once it is synced, was open when the spare was
  // requested.
  bool descriptor_due_ = false;
  uint64_t refused_bytes_ = 0;  // the frames of the newest append for which there was no room
  uint64_t appended_records_ = 0;
  uint64_t appended_bytes_ = 0;  // of their frames
};

}  // namespace durlog
