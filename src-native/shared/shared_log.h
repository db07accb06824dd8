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
#include <string>

#include "base/bytes.h"
#include "base/executor.h"
#include "base/job_list.h"
#include "recovery/report.h"
#include "shared/member.h"
#include "shared/pages_ahead.h"
#include "shared/shared_append_point.h"
#include "shared/shared_commits.h"
#include "shared/shared_files_watch.h"
#include "shared/shared_rotation.h"
#include "shared/shared_trim_job.h"
#include "write/log_listener.h"
#include "write/log_state.h"
#include "write/log_stats.h"
#include "write/log_writer.h"
#include "write/options.h"

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

  bool idle() const override { return commits_.idle(); }
  bool latched() const { return state_.latched(); }
  uint64_t first_seq() const { return member_->page().Load(PageWord::kFirstSeq); }
  // The seq after the last record that this member has appended or seen.
  uint64_t next_seq() const { return point_.at().seq; }
  // The value at the last call of another method.
  uint64_t ReachedEnd(Level level) const { return commits_.ReachedEnd(level); }
  uint64_t pending_bytes() const { return commits_.pending_bytes(); }
  const LogOptions& options() const override { return options_; }
  const RecoveryReport& recovery() const override { return recovery_; }
  const LogUuid& uuid() const override { return uuid_; }
  uint32_t slot() const { return member_->slot(); }
  uint32_t CountMembers() const { return member_->CountMembers(); }
  LogStats Stats() const override;
  LogEnds Ends() const override { return EndsOf(*this); }

 private:
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
  Status CheckAppend(Bytes payload) const;
  Result<uint64_t> CheckBatch(const PayloadParts* payloads, size_t count) const;
  Status CheckRoom(uint64_t frame_bytes);
  void SyncEagerly();
  Status CatchUp();
  void NoteEntered();
  Status MakeNext();
  Status Reserve(uint64_t frame_bytes, uint64_t seqs, uint64_t time_ms, uint64_t expected_seq,
                 Place* place);
  Status Publish(const Place& place, uint64_t first_word, Level level);
  template <typename AppendOnce>
  Result<uint64_t> AppendAwaitingRoom(const AppendOnce& append);
  Status AwaitStored(uint64_t end, Level level);

  // shared_log.cc
  void FinishFilesCheck();

  const std::shared_ptr<Member> member_;
  const Capabilities capabilities_;
  LogOptions options_;
  Executor* executor_ = nullptr;
  LogListener* listener_ = nullptr;
  LogUuid uuid_{};
  RecoveryReport recovery_;
  uint64_t rotations_ = 0;

  LogState state_;
  SharedAppendPoint point_;
  SharedCommits commits_;
  SharedRotation rotation_;
  PagesAhead pages_;
  SharedFilesWatch files_;
  JobList trims_;
};

}  // namespace durlog
