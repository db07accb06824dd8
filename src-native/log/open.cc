// Opening a log: lock, recover or create.
#include "cursor/cursor_file.h"
#include "cursor/cut_list.h"
#include "log/log.h"
#include "record/segment_name.h"
#include "recovery/apply.h"
#include "recovery/log_files.h"
#include "recovery/plan.h"

namespace durlog {
namespace {

Status RemoveSpares(Directory& directory, const LogFiles& files) {
  for (const std::string& spare : files.spares) {
    DURLOG_RETURN_IF_ERROR(directory.Remove(spare));
  }
  return Status::Ok();
}

// RFC 9562: version 4, made of random bits, and the variant of that document.
LogUuid MakeUuid(FileSystem& file_system) {
  LogUuid uuid;
  for (size_t i = 0; i < uuid.size(); i += 8) Store64(uuid.data() + i, file_system.Random64());
  uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0f) | 0x40);
  uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

}  // namespace

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
      mode_(policy_.first_mode()) {}

Result<std::unique_ptr<Log>> Log::Open(FileSystem& file_system, const std::string& path,
                                       const LogOptions& options) {
  DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<Directory> directory,
                          file_system.OpenDirectory(path, options.create));
  // Without create, a folder that holds no log is left as it was found: without a lock file.
  if (!options.create) {
    DURLOG_ASSIGN_OR_RETURN(const LogFiles files, ListLogFiles(*directory));
    if (files.segments.empty()) {
      return Status::Error(Code::kNotFound, "there is no log in this folder").WithPath(path);
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
  active_ = std::make_shared<Segment>(first_seq, chain_.MakeSpare(uuid_, record_ms_, 0));
  DURLOG_RETURN_IF_ERROR(active_->Activate(*directory_));
  DURLOG_RETURN_IF_ERROR(directory_->Sync());
  active_->entry_synced = true;
  stats_.preallocated = active_->preallocated();
  chain_.Add(first_seq);
  ResumeAt(std::move(active_), kSegmentHeaderBytes, 0);
  return Status::Ok();
}

Status Log::Create() {
  const RestoredIdentity& restored = options_.restored;
  uuid_ = restored.uuid == LogUuid{} ? MakeUuid(file_system_) : restored.uuid;
  if (restored.generation != 0) {
    DURLOG_RETURN_IF_ERROR(StartGeneration(*directory_, uuid_, restored.generation));
  }
  live_.Attach(file_system_, *directory_, capabilities_, uuid_);
  end_marked_ = true;
  next_seq_ = restored.first_seq;
  acks_.Reset(next_seq_);
  return CreateFirstSegment(next_seq_);
}

// Records in memory that a cursor has passed may be gone: after a write that failed.
Status Log::RecordLostRecords(uint64_t next_seq) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t highest,
                          HighestPosition(*directory_, file_system_.CurrentBoot(), uuid_));
  if (highest <= next_seq) return Status::Ok();
  return RecordCut(*directory_, uuid_, next_seq);
}

Status Log::Recover() {
  DURLOG_ASSIGN_OR_RETURN(LogFiles files, ListLogFiles(*directory_));
  if (files.segments.empty()) {
    DURLOG_RETURN_IF_ERROR(RemoveSpares(*directory_, files));
    return Create();
  }
  DURLOG_ASSIGN_OR_RETURN(RecoveryPlan plan,
                          PlanRecovery(*directory_, std::move(files), OpenMode::kReadWrite,
                                       ScanExtent::kUnsyncedEnd, Evidence::kDevice));
  recovery_ = plan.report;
  uuid_ = plan.identity.uuid;
  const bool corrupt = plan.report.state == RecoveryState::kCorrupt;
  if (corrupt && !options_.salvage) return CorruptError(*directory_, plan.report);
  if (plan.next_seq > kMaxSeq) {
    return Status::Error(Code::kOutOfRange, "the log's seqs are used up")
        .WithPath(directory_->path());
  }
  // Not before the log is known to be ours: a refusal changes nothing.
  DURLOG_RETURN_IF_ERROR(RemoveSpares(*directory_, plan.files));
  if (uuid_ == LogUuid{}) uuid_ = MakeUuid(file_system_);  // no header could be read
  live_.Attach(file_system_, *directory_, capabilities_, uuid_);
  DURLOG_RETURN_IF_ERROR(RecordLostRecords(plan.next_seq));
  live_.BeginRecovery(plan.next_seq, !plan.cuts.empty());
  const bool cuts = !plan.cuts.empty();
  DURLOG_RETURN_IF_ERROR(ApplyRecovery(*directory_, capabilities_, &plan));
  // Once more: a reader may have opened a segment that was still to go.
  if (cuts) live_.Cut(plan.next_seq);
  chain_.Assign(plan.files.segments);
  next_seq_ = plan.next_seq;
  acks_.Reset(next_seq_);
  // Salvage never writes over the evidence: appends go after it, into a new segment, or into an
  // empty one that an earlier salvage made.
  ScannedSegment& last = plan.scanned.back();
  if (corrupt && !(last.empty() && last.first_seq == next_seq_)) {
    return CreateFirstSegment(next_seq_);
  }
  end_marked_ = plan.synced_end >= next_seq_;
  active_ = std::make_shared<Segment>(last.first_seq, last.header, std::move(last.file));
  ResumeAt(std::move(active_), last.scan.end_offset, last.scan.last_time_ms);
  return Status::Ok();
}

}  // namespace durlog
