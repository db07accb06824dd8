// Opening a log: lock, recover or create.
#include <utility>

#include "log/log.h"
#include "record/segment_name.h"
#include "recovery/log_files.h"
#include "write/recover_folder.h"

namespace durlog {

Log::Log(FileSystem& file_system, std::unique_ptr<Directory> directory,
         std::unique_ptr<FileLock> lock, Capabilities capabilities, const LogOptions& options)
    : file_system_(file_system),
      directory_(std::move(directory)),
      lock_(std::move(lock)),
      capabilities_(std::move(capabilities)),
      options_(options),
      policy_(options_, capabilities_),
      chain_(file_system_, *directory_, options_, capabilities_, policy_),
      staging_(capabilities_.direct_alignment),
      mode_(policy_.first_mode()),
      clock_(file_system_) {}

Result<std::unique_ptr<Log>> Log::Open(FileSystem& file_system, const std::string& path,
                                       const LogOptions& options) {
  DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<Directory> directory,
                          file_system.OpenDirectory(path, options.create));
  // Without `create`, a folder that holds no log stays unchanged: no lock file is created.
  if (!options.create) {
    DURLOG_ASSIGN_OR_RETURN(const LogFiles files, ListLogFiles(*directory));
    if (files.segments.empty()) {
      return Status::Error(Code::kNotFound, "there is no log in this folder yet").WithPath(path);
    }
  }
  DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<FileLock> lock, directory->Lock(kLockName));
  DURLOG_ASSIGN_OR_RETURN(Capabilities capabilities, directory->Probe());
  if (capabilities.direct_alignment > AlignedBuffer::kAlignment) capabilities.direct_io = false;
  std::unique_ptr<Log> log(new Log(file_system, std::move(directory), std::move(lock),
                                   std::move(capabilities), options));
  DURLOG_RETURN_IF_ERROR(log->Recover());
  log->PublishEnds();
  log->live_.Announce(file_system);
  return log;
}

Status Log::CreateFirstSegment(uint64_t first_seq) {
  record_ms_ = file_system_.NowMs();
  active_ = std::make_shared<Segment>(
      first_seq, chain_.MakeSpare(uuid_, chain_.NextBytes(0, 0), record_ms_, 0));
  DURLOG_RETURN_IF_ERROR(active_->Activate(*directory_));
  DURLOG_RETURN_IF_ERROR(directory_->Sync());
  active_->entry_synced = true;
  stats_.preallocated = active_->preallocated();
  chain_.Add(first_seq);
  ResumeAt(std::move(active_), kSegmentHeaderBytes, 0);
  return Status::Ok();
}

Status Log::Recover() {
  RecoveredFolder folder;
  DURLOG_RETURN_IF_ERROR(
      RecoverFolder(file_system_, *directory_, capabilities_, options_, &live_, &folder));
  uuid_ = folder.uuid;
  recovery_ = folder.report;
  end_marked_ = folder.end_marked;
  next_seq_ = folder.next_seq;
  acks_.Reset(next_seq_);
  if (!folder.segments.empty()) chain_.Assign(std::move(folder.segments));
  if (!folder.last) return CreateFirstSegment(next_seq_);
  ScannedSegment& last = *folder.last;
  active_ = std::make_shared<Segment>(last.first_seq, last.header, std::move(last.file));
  ResumeAt(std::move(active_), last.scan.end_offset, last.scan.last_time_ms);
  return Status::Ok();
}

}  // namespace durlog
