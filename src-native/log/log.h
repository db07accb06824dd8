// The log: appends, group commit, rotation, the latch.
//
// Threads: every method is called by one thread, the log's own. What blocks is done by jobs on
// the executor's workers, which touch nothing but what they were given; the log picks up their
// results in Harvest(). So there is no lock, and no state that two threads share.
#ifndef DURLOG_LOG_LOG_H_
#define DURLOG_LOG_LOG_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/executor.h"
#include "base/job.h"
#include "live/live_page_writer.h"
#include "log/ack_ledger.h"
#include "log/admin_jobs.h"
#include "log/commit.h"
#include "log/options.h"
#include "log/write_policy.h"
#include "platform/file_system.h"
#include "record/record_codec.h"
#include "recovery/log_files.h"
#include "recovery/report.h"
#include "segment/mapped_tail.h"
#include "segment/segment.h"

namespace durlog {

// Told on the log's thread, from within Harvest() or from within the call that could not wait.
class LogListener {
 public:
  virtual ~LogListener() = default;
  // Appends from `first_seq` on that have not reached their level never will. Below
  // `unknown_before` they may be on the device, from there on they are not. Unless `latched`, the
  // seqs from `first_seq` on are given out again.
  virtual void OnFailure(const Status& status, uint64_t first_seq, uint64_t unknown_before,
                         bool latched) = 0;
  virtual void OnRotated(uint64_t first_seq) = 0;
};

struct LogStats {
  Strategy strategy = Strategy::kAuto;
  WriteMode mode = WriteMode::kDirect;
  Preallocation preallocated = Preallocation::kNone;  // of the active segment
  std::string file_system;
  std::string reason;
  uint64_t segments = 0;
  uint64_t segment_bytes = 0;
  uint64_t rotations = 0;
  uint64_t commits = 0;
  uint64_t committed_records = 0;
  uint64_t committed_bytes = 0;
  uint64_t mode_switches = 0;
  uint64_t recycled = 0;
};

class Log {
 public:
  // The time of an append that names none.
  static constexpr uint64_t kClockTime = UINT64_MAX;

  // Blocking: locks, recovers, creates. The log has no executor yet: Attach() comes next.
  static Result<std::unique_ptr<Log>> Open(FileSystem& file_system, const std::string& path,
                                           const LogOptions& options);
  // Waits for the jobs that are out. Does not sync: see PrepareClose().
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Both outlive the log.
  void Attach(Executor* executor, LogListener* listener);

  // Frames and copies the record; its seq. Refused: kRecordEmpty, kRecordTooLarge, kLatched,
  // kClosed; kBackpressure where nothing was done and a later try may succeed; kNoSpace where a
  // mapped segment could not be had. The level is reached when ReachedEnd(level) > seq. An append
  // that comes upon a commit that was rolled back is refused with kBackpressure: the listener has
  // been told, so whoever appends in order can stop before a record is stored behind a lost one.
  //
  // A `time_ms` that is not the clock's is kept exactly: where the active segment cannot hold it,
  // as it is before the newest record's or more than 49.7 days after the base time, it begins the
  // next segment.
  Result<uint64_t> Append(Bytes payload, Level level, uint64_t time_ms = kClockTime);
  // As Append, for all or none of `count` records, also after a crash; the first seq.
  Result<uint64_t> AppendBatch(const Bytes* payloads, size_t count, Level level,
                               uint64_t time_ms = kClockTime);
  // At kMemory when it returns.
  Result<uint64_t> Write(Bytes payload);
  // At `level` when it returns; the caller's thread does the commit.
  Result<uint64_t> AppendSync(Bytes payload, Level level, uint64_t time_ms = kClockTime);
  // Asks that everything so far reach `level`.
  void RequestSync(Level level);

  // Starts a commit unless one is out or none is wanted.
  void Pump();
  // Picks up what jobs have done. Cheap when there is nothing.
  void Harvest();

  // Removes the segments all of whose records are below `seq`. Null where there is none.
  std::shared_ptr<TrimJob> BeginTrim(uint64_t seq);
  void FinishTrim(const TrimJob& job);
  // Cuts the records from `next_seq` on. Nothing may be pending; appends answer kBackpressure
  // until FinishTruncate.
  Result<std::shared_ptr<TruncateJob>> BeginTruncate(uint64_t next_seq);
  Status FinishTruncate(TruncateJob& job);
  // No append from here on; marks the end, so that the next open knows everything is synced.
  // idle() is true when that is done.
  void PrepareClose();

  bool idle() const { return commit_ == nullptr && !CommitWanted(); }
  bool latched() const { return latched_; }
  uint64_t first_seq() const { return segments_.front(); }
  uint64_t next_seq() const { return next_seq_; }
  // Every record below it has reached `level`.
  uint64_t ReachedEnd(Level level) const { return acks_.ReachedEnd(level); }
  uint64_t pending_bytes() const { return pending_bytes_; }
  const LogOptions& options() const { return options_; }
  const RecoveryReport& recovery() const { return recovery_; }
  const LogUuid& uuid() const { return uuid_; }
  LogStats Stats() const;

 private:
  // Large enough that a commit of it costs little more than one of less.
  static constexpr uint64_t kMinEagerCommitBytes = 128 << 10;

  // A log's first segment may stay its only one; the next one follows a stream of records.
  enum class SparePurpose : uint8_t { kFirst, kNext };

  // A segment with bytes in the page cache that no sync has covered yet.
  struct DirtyRange {
    std::shared_ptr<Segment> segment;
    uint64_t begin;
    uint64_t end;
  };
  // The last block of a direct write: the next one begins with its bytes.
  struct TailImage {
    const Segment* segment = nullptr;
    uint64_t offset = 0;
    std::vector<uint8_t> bytes;
  };

  Log(FileSystem& file_system, std::unique_ptr<Directory> directory, std::unique_ptr<FileLock> lock,
      Capabilities capabilities, const LogOptions& options);

  // open.cc
  Status Recover();
  Status RemoveSpares(const LogFiles& files);
  void MakeUuid();
  // What readers elsewhere may see. A truncation that is out has lowered the ends already.
  void PublishEnds() {
    if (exclusive_) return;
    live_.StoreEnds(first_seq(), acks_.memory_end(), acks_.synced_end());
  }
  Status CreateFirstSegment(uint64_t first_seq);
  void ChooseMode();

  // append.cc
  bool Takes(Bytes payload) const;
  Status CheckAppend(Bytes payload) const;
  static Status LatchedError();
  Result<uint64_t> AppendAwaitingSpare(Bytes payload, Level level, uint64_t time_ms);
  Status MakeRoom(uint64_t frame_bytes, uint64_t time_ms);
  void SetRecordTime(uint64_t time_ms);
  bool TakesRecordTime(uint64_t base_time_ms, uint32_t last_time_ms) const;
  Status StoreFrame(const FrameFields& fields, Bytes payload);
  Status StageFrame(const FrameFields& fields, Bytes payload);
  void MarkDirty(uint64_t begin, uint64_t end);
  Status StoreMapped(const FrameFields& fields, Bytes payload, bool publish);
  Status WriteAround(uint64_t at, uint8_t* header, uint32_t crc, Bytes payload, bool publish);
  Status StoreMappedBatch(const Bytes* payloads, size_t count);
  Status WriteWord(uint64_t at, uint32_t word);
  Status TakeBack(uint64_t at, Status failure);
  FrameFields NextFields(size_t payload_bytes);
  void CommitEagerly();
  void NoteAppended(uint64_t frame_bytes, uint64_t records, Level level);
  void NotePosition();
  Status ReserveStage(uint64_t frame_bytes, bool rotates);
  Result<StagedPiece*> CurrentPiece();
  Status FillHead(StagedPiece* piece);
  Status AwaitLevel(uint64_t seq, Level level);
  Status AppendMarker();

  // rotate.cc
  Status Rotate();
  Status RotateMapped();
  std::shared_ptr<Segment> TakeReplaced();
  void EnterSegment(std::shared_ptr<Segment> next);
  Status EnsureMapped(TailLegacy legacy = {});
  TailShape ShapeOf(const SegmentHeader& header) const;
  void RequestSpare();
  void DropUnfitSpare();
  std::shared_ptr<SpareJob> MakeSpareJob(SparePurpose purpose);
  Preallocation SparePreallocation() const;
  bool TooMuchUnsynced() const;
  void ResumeAt(std::shared_ptr<Segment> segment, uint64_t offset, uint32_t last_time_ms);
  Status ActivateHere();
  void NoteAdminJob(std::shared_ptr<Job> job);

  // group_commit.cc
  bool CommitWanted() const;
  Level WantedLevel() const;
  CommitPlan MakePlan(Level level);
  std::shared_ptr<CommitJob> BeginCommit(Level level);
  bool ShouldMap() const {
    return can_map_ && options_.strategy == Strategy::kAuto && policy_.WantsMap();
  }
  bool ShouldLeaveMap(const CommitPlan& plan) const;
  void AddTargets(CommitPlan* plan, bool leave_map);
  static void AddFullTarget(const std::shared_ptr<Segment>& segment, CommitPlan* plan);
  void KeepTailImage(const StagedPiece& piece);
  void FinishCommit();
  void Finish(CommitJob& job);
  void FinishDone(CommitJob& job);
  void FinishRolledBack(CommitJob& job);
  void NoteActivated(const Segment& segment);
  void RunCommitHere();
  void WriteHere();
  void Latch(Status status, uint64_t first_seq, uint64_t unknown_before);
  AlignedBuffer TakeBuffer();
  void GiveBuffer(AlignedBuffer buffer);

  FileSystem& file_system_;
  const std::unique_ptr<Directory> directory_;
  std::unique_ptr<FileLock> lock_;
  LivePageWriter live_;  // let go of before lock_
  const Capabilities capabilities_;
  const LogOptions options_;
  Executor* executor_ = nullptr;
  LogListener* listener_ = nullptr;
  LogUuid uuid_{};
  RecoveryReport recovery_;
  std::string reason_;

  // The append point.
  WriteMode mode_ = WriteMode::kBuffered;
  WritePolicy policy_;  // of kAuto
  bool can_map_ = false;
  std::shared_ptr<Segment> active_;
  uint64_t append_offset_ = 0;
  uint64_t next_seq_ = 0;
  uint64_t note_from_ = 0;     // the offset from which a position is worth noting
  uint32_t last_time_ms_ = 0;  // of the active segment's last frame
  uint64_t now_ms_ = 0;        // the clock when it was last read
  uint64_t record_ms_ = 0;     // the time of the record at hand
  bool exact_time_ = false;    // given by the caller, and kept as it is
  uint32_t clock_credit_ = 0;
  std::unique_ptr<MappedTail> tail_;  // kMapped only
  std::shared_ptr<Job> left_run_;     // of the tail before: see TailLegacy
  std::deque<StagedPiece> filling_;   // the other modes: framed since the last commit began
  uint64_t filling_bytes_ = 0;
  AlignedBuffer next_buffer_;  // of the next piece: see ReserveStage()
  uint64_t last_commit_micros_ = 0;
  uint64_t eager_commit_bytes_ = kMinEagerCommitBytes;  // see CommitEagerly()
  TailImage tail_image_;
  std::vector<AlignedBuffer> buffers_;

  // Commit.
  std::shared_ptr<CommitJob> commit_;
  AckLedger acks_;
  uint64_t committed_end_ = 0;              // where the next group begins, in seqs
  std::shared_ptr<Segment> group_segment_;  // and in the files
  uint64_t group_offset_ = 0;
  uint32_t group_last_time_ms_ = 0;
  uint64_t pending_bytes_ = 0;
  std::deque<DirtyRange> dirty_;
  // Full segments that no fsync has covered since they were last written to, oldest first.
  std::deque<std::shared_ptr<Segment>> sealed_;

  std::vector<std::shared_ptr<Job>> admin_;  // trims and truncations that may be out

  // Segments.
  std::deque<uint64_t> segments_;  // first seqs, the active one's included once it has a name
  std::shared_ptr<SpareJob> spare_;
  std::vector<std::string> recyclable_;
  bool rotation_waits_ = false;  // an append was refused until spare_ is done

  bool latched_ = false;
  bool closing_ = false;
  bool exclusive_ = false;    // a truncation is out
  bool end_marked_ = false;   // the log's last frame is a marker, or the log is new
  bool marking_end_ = false;  // that marker is on its way
  Status failure_;
  uint64_t failed_from_ = UINT64_MAX;
  uint64_t rollbacks_ = 0;  // commits that were undone
  LogStats stats_;
};

}  // namespace durlog

#endif  // DURLOG_LOG_LOG_H_
