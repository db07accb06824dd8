// One of several writers of a log, each in a separate process or thread.
//
// Threads: as with Log, every method is called by one thread, and blocking work is done by jobs.
// The members communicate only through the segments and MembersPage. A member reserves the place of
// a record by a compare-and-swap on the frame's first eight bytes, fills it, and publishes it by
// storing these bytes again. A record is committed once it and all earlier records are whole. If a
// member dies, the other members replace the places that it has reserved with voids.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/executor.h"
#include "base/job_list.h"
#include "record/record_codec.h"
#include "recovery/report.h"
#include "shared/log_walk.h"
#include "shared/member.h"
#include "shared/populate_job.h"
#include "shared/reach_job.h"
#include "shared/shared_trim_job.h"
#include "shared/spare_making.h"
#include "shared/stall.h"
#include "write/ack_ledger.h"
#include "write/eager_size.h"
#include "write/files_watch.h"
#include "write/log_listener.h"
#include "write/log_stats.h"
#include "write/log_writer.h"
#include "write/options.h"
#include "write/record_clock.h"

namespace durlog {

class SharedLog final : public LogWriter {
 public:
  // Blocking: joins the members, or recovers or creates the log if no member is alive. kLocked if
  // an exclusive writer has the log, kUnsupported if several writers cannot share it. The log has
  // no executor until Attach() is called.
  static Result<std::unique_ptr<SharedLog>> Open(FileSystem& file_system, const std::string& path,
                                                 const LogOptions& options);
  // Waits for the running jobs. After PrepareClose(), the last member also marks the end of the
  // log.
  ~SharedLog() override;
  SharedLog(const SharedLog&) = delete;
  SharedLog& operator=(const SharedLog&) = delete;

  void Attach(Executor* executor, LogListener* listener) override;

  // As the functions of Log. A record has reached a level when it and all earlier records, of all
  // members, have reached it.
  Result<uint64_t> Append(Bytes payload, Level level, uint64_t time_ms = kClockTime,
                          uint64_t expected_seq = kAnySeq) override;
  Result<uint64_t> AppendBatch(const PayloadParts* payloads, size_t count, Level level,
                               uint64_t time_ms = kClockTime,
                               uint64_t expected_seq = kAnySeq) override;
  // The record is at kMemory when these return. kStalled if the record is stored but an earlier
  // record is not.
  Result<uint64_t> Write(Bytes payload) override;
  Result<uint64_t> WriteBatch(const PayloadParts* payloads, size_t count) override;
  Result<uint64_t> AppendSync(Bytes payload, Level level, uint64_t time_ms = kClockTime) override;
  Status Sync(Level level) override;
  // Write() waits for room itself.
  bool HasRoom() const override { return true; }
  void RequestSync(Level level) override;
  // Reads the progress of the other members.
  void Look();

  void Pump() override;
  void Harvest() override;
  void CheckFiles() override;
  // The records of this member are synced before it is idle, unless another member delays the sync
  // for too long: see LogListener::OnClosedUnsynced().
  void PrepareClose() override;
  std::shared_ptr<SharedTrimJob> BeginTrim(uint64_t seq);
  // After the job is done.
  Status FinishTrim(const SharedTrimJob& trim);

  bool idle() const override;
  bool latched() const { return latched_; }
  uint64_t first_seq() const { return member_->page().Load(PageWord::kFirstSeq); }
  // The seq after the last record that this member has appended or seen.
  uint64_t next_seq() const { return append_->point().seq; }
  // The value at the last call of another method.
  uint64_t ReachedEnd(Level level) const { return acks_.ReachedEnd(level); }
  uint64_t pending_bytes() const { return pending_bytes_ + syncing_bytes_ + next_syncing_bytes_; }
  const LogOptions& options() const override { return options_; }
  const RecoveryReport& recovery() const override { return recovery_; }
  const LogUuid& uuid() const override { return uuid_; }
  uint32_t slot() const { return member_->slot(); }
  uint32_t CountMembers() const { return member_->CountMembers(); }
  LogStats Stats() const override;
  LogEnds Ends() const override { return EndsOf(*this); }

 private:
  // A place that this member has reserved in the active segment.
  struct Place {
    uint64_t offset;
    uint64_t seq;
    FrameStep step;  // with which a walk passes the published frame
  };

  SharedLog(std::shared_ptr<Member> member, Capabilities capabilities, const LogOptions& options);

  // shared_open.cc
  Status Recover();
  Status MakeFirstSegment(uint64_t first_seq);
  Status Join();
  Status VoidReservations(AtReserved policy, LogPoint* point);
  Status StartAt(const LogPoint& point);

  // shared_leave.cc
  void Leave();
  Status StateEnd(LogPoint end);

  // shared_append.cc
  Status CheckOpen() const;
  Status CheckAppend(Bytes payload) const;
  Result<uint64_t> CheckBatch(const PayloadParts* payloads, size_t count) const;
  Status CheckRoom(uint64_t frame_bytes);
  Result<bool> SetFrameTime(uint64_t time_ms);
  Result<Place> Reserve(uint64_t frame_bytes, uint64_t seqs, uint64_t time_ms,
                        uint64_t expected_seq);
  FrameFields FieldsOf(uint64_t seq, size_t payload_bytes) const;
  Status Publish(const Place& place, uint64_t first_word);
  void NoteAppended(const Place& place, Level level);
  template <typename AppendOnce>
  Result<uint64_t> AppendAwaitingRoom(const AppendOnce& append);
  Status AwaitHere(uint64_t end, Level level);
  Status AwaitStored(uint64_t end, Level level);

  // shared_rotate.cc
  enum class SealReason : uint8_t { kFull, kTime };
  Status CatchUp();
  Status Seal(SealReason reason);
  Status MakeNext();
  Status Rotate(uint64_t first_seq);
  Result<bool> GiveName(uint64_t first_seq);
  bool FitsNow(uint64_t base_time_ms) const;
  void RequestSpare(bool waits);
  void PopulateAhead();
  bool TooMuchUnsynced() const;
  void NoteEntered();

  // shared_log.cc
  void Refresh();
  void RaiseReached();
  void SyncEagerly();
  std::shared_ptr<ReachJob> MakeReach(uint64_t end, Level level);
  std::shared_ptr<ReachJob> MakeSync();
  void FinishReach(std::shared_ptr<ReachJob>* job, StallStreak* streak);
  void NoteStall(const std::optional<Stall>& stall, StallStreak* streak);
  bool WantsSync() const;
  void NoteFailure(Status status);
  void NoteUnreached(Status status);
  void NoteRoom();
  void FinishFilesCheck();
  void NoteLatchOfOthers();
  void Latch(Status status);
  Status LatchedError() const;

  const std::shared_ptr<Member> member_;
  const Capabilities capabilities_;
  LogOptions options_;
  Executor* executor_ = nullptr;
  LogListener* listener_ = nullptr;
  LogUuid uuid_{};
  RecoveryReport recovery_;
  LogStats stats_;

  std::unique_ptr<LogWalk> append_;     // at the end of all frames known to be reserved
  std::unique_ptr<LogWalk> committed_;  // at the end of all frames known to be whole
  AckLedger acks_;
  uint64_t own_end_ = 0;        // after the last record that this member has appended
  uint64_t pending_bytes_ = 0;  // appended since the last sync began
  uint64_t syncing_bytes_ = 0;  // of sync_job_
  uint64_t next_syncing_bytes_ = 0;
  EagerSize eager_size_{options_.eager_bytes};

  RecordClock clock_;
  uint32_t frame_time_ms_ = 0;

  std::shared_ptr<ReachJob> memory_job_;
  std::shared_ptr<ReachJob> sync_job_;
  std::shared_ptr<ReachJob> next_sync_job_;  // of the group that waits for sync_job_
  std::shared_ptr<SharedSpareJob> spare_job_;
  std::shared_ptr<PopulateJob> populate_job_;
  JobList trims_;
  StallStreak memory_stalls_;
  StallStreak sync_stalls_;
  StallStreak room_stalls_;
  bool spare_failure_seen_ = false;           // Harvest() has seen that spare_job_ failed
  uint64_t spare_requested_in_ = UINT64_MAX;  // the segment of the last request, by its first seq
  bool spare_request_made_ = false;           // the spare existed at the last request
  std::shared_ptr<SharedSegment> entered_;    // the segment of the append point
  std::shared_ptr<SharedSegment> left_;       // the previous segment, while its map is populated
  uint64_t populated_until_ = 0;              // an offset in the active segment
  uint64_t stretch_from_ = 0;                 // the append point at the last populate job
  AppendedStretch stretch_;                   // the bytes appended since

  FilesWatch files_;
  std::vector<uint64_t> listed_;  // the segments that the last check has found
  uint64_t checked_segment_ = 0;  // the append point at the last check
  uint64_t checked_offset_ = 0;

  bool latched_ = false;
  Status failure_;  // the failure that latched the log
  bool closing_ = false;
  bool closed_unsynced_ = false;
};

}  // namespace durlog
