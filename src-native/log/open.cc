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
      lock_id_(capabilities_.keeps_file_ids ? IdOf(lock_->Id()) : std::nullopt),
      policy_(options_, capabilities_),
      chain_(file_system_, *directory_, options_, capabilities_, policy_),
      point_(file_system_, *directory_, options_, capabilities_, policy_, chain_),
      commits_(file_system_, *directory_, options_, point_, chain_, live_, state_, lock_id_),
      folder_id_(IdOf(directory_->Id())),
      files_(file_system_) {}

Result<std::unique_ptr<Log>> Log::Open(FileSystem& file_system, const std::string& path,
                                       const LogOptions& options) {
  DURLOG_ASSIGN_OR_RETURN(auto directory, file_system.OpenDirectory(path, options.create));
  // Without `create`, a folder that holds no log stays unchanged: no lock file is created.
  if (!options.create) DURLOG_RETURN_IF_ERROR(FindLogFiles(*directory).TakeStatus());
  DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<FileLock> lock, directory->Lock(kLockName));
  DURLOG_ASSIGN_OR_RETURN(Capabilities capabilities, directory->Probe());
  if (capabilities.direct_alignment > AlignedBuffer::kAlignment) capabilities.direct_io = false;
  directory->KeepDescriptors();
  std::unique_ptr<Log> log(new Log(file_system, std::move(directory), std::move(lock),
                                   std::move(capabilities), options));
  DURLOG_RETURN_IF_ERROR(log->Recover());
  log->commits_.PublishEnds();
  log->live_.Announce(file_system);
  return log;
}

Status Log::CreateFirstSegment(uint64_t first_seq) {
  auto segment = std::make_shared<Segment>(
      first_seq, chain_.MakeSpare(uuid_, chain_.NextBytes(0, 0), file_system_.NowMs(),
                                  /*first_chunk_bytes=*/0));
  DURLOG_RETURN_IF_ERROR(segment->Activate(*directory_));
  DURLOG_RETURN_IF_ERROR(directory_->Sync());
  segment->entry_synced = true;
  chain_.Add(*segment);
  point_.Resume({first_seq, std::move(segment), kSegmentHeaderBytes, 0});
  return Status::Ok();
}

Status Log::Recover() {
  RecoveredFolder folder;
  DURLOG_RETURN_IF_ERROR(
      RecoverFolder(file_system_, *directory_, capabilities_, options_, &live_, &folder));
  uuid_ = folder.uuid;
  recovery_ = folder.report;
  if (!folder.segments.empty()) chain_.Assign(std::move(folder.segments));
  if (folder.last) {
    ScannedSegment& last = *folder.last;
    auto segment = std::make_shared<Segment>(
        last.first_seq, last.header, SegmentFile(std::move(last.file), last.header.segment_bytes));
    chain_.Hold(*segment, last.scan.end_offset);
    point_.Resume(
        {folder.next_seq, std::move(segment), last.scan.end_offset, last.scan.last_time_ms});
  } else {
    DURLOG_RETURN_IF_ERROR(CreateFirstSegment(folder.next_seq));
  }
  commits_.Reset(folder.end_stated);
  return Status::Ok();
}

}  // namespace durlog
