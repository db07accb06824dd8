// Opening a log: lock, recover or create, choose how to write.
#include "log/log.h"
#include "record/segment_name.h"
#include "recovery/apply.h"
#include "recovery/log_files.h"
#include "recovery/plan.h"

namespace durlog {
namespace {

const char* Refusal(const Capabilities& capabilities) {
  if (capabilities.direct_io) return "";
  return capabilities.direct_alignment > AlignedBuffer::kAlignment
             ? "the device's blocks are too large for direct I/O"
             : "the file system refuses direct I/O";
}

// Why a log there is not written through a map.
std::string NoMapReason(const Capabilities& capabilities) {
  if (!capabilities.overwrites_in_place) {
    return "a store to a map can fail on " + capabilities.file_system +
           ", which does not overwrite in place: pwrite instead";
  }
  return "a store to a map that meets an I/O error ends the process on this system: pwrite instead";
}

}  // namespace

Log::Log(FileSystem& file_system, std::unique_ptr<Directory> directory,
         std::unique_ptr<FileLock> lock, Capabilities capabilities, const LogOptions& options)
    : file_system_(file_system),
      directory_(std::move(directory)),
      lock_(std::move(lock)),
      capabilities_(std::move(capabilities)),
      options_(options) {}

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
  log->ChooseMode();
  log->policy_ = WritePolicy(log->mode_, options.map_after_records);
  DURLOG_RETURN_IF_ERROR(log->Recover());
  log->PublishEnds();
  log->live_.Announce(file_system);
  return log;
}

// stats() reports the reason, so that a caller of `auto` can see what was chosen.
void Log::ChooseMode() {
  const bool in_memory = options_.expected_level < Level::kSync;
  can_map_ = capabilities_.overwrites_in_place && capabilities_.survives_map_faults;
  switch (options_.strategy) {
    case Strategy::kMmap:
      mode_ = can_map_ ? WriteMode::kMapped : WriteMode::kBuffered;
      reason_ = can_map_ ? "asked for" : NoMapReason(capabilities_);
      return;
    case Strategy::kPwrite:
      mode_ = WriteMode::kBuffered;
      reason_ = "asked for";
      return;
    case Strategy::kDirect:
      mode_ = capabilities_.direct_io ? WriteMode::kDirect : WriteMode::kBuffered;
      reason_ = capabilities_.direct_io ? "asked for"
                                        : std::string(Refusal(capabilities_)) + ": pwrite instead";
      return;
    case Strategy::kAuto:
      break;
  }
  if (!capabilities_.overwrites_in_place) {
    can_map_ = false;
    mode_ = WriteMode::kBuffered;
    reason_ = capabilities_.file_system +
              " does not overwrite in place: a written extent saves nothing, pwrite + fdatasync";
  } else if (!can_map_) {
    // Records wanted in memory would wait for the device in direct mode.
    mode_ = WriteMode::kBuffered;
    reason_ = NoMapReason(capabilities_);
  } else if (in_memory || !capabilities_.direct_io) {
    mode_ = WriteMode::kMapped;
    reason_ = capabilities_.direct_io
                  ? "mapped while records are wanted in memory, direct once they are only synced"
                  : std::string(Refusal(capabilities_)) + ": mapped, msync for sync";
  } else {
    mode_ = WriteMode::kDirect;
    reason_ = "direct while every record is synced, mapped once records are wanted in memory";
  }
}

Status Log::CreateFirstSegment(uint64_t first_seq) {
  record_ms_ = file_system_.NowMs();
  active_ = std::make_shared<Segment>(first_seq, MakeSpareJob(SparePurpose::kFirst));
  DURLOG_RETURN_IF_ERROR(active_->Activate(*directory_));
  DURLOG_RETURN_IF_ERROR(directory_->Sync());
  active_->entry_synced = true;
  stats_.preallocated = active_->preallocated();
  segments_.push_back(first_seq);
  ResumeAt(std::move(active_), kSegmentHeaderBytes, 0);
  return Status::Ok();
}

Status Log::RemoveSpares(const LogFiles& files) {
  for (const std::string& spare : files.spares) {
    DURLOG_RETURN_IF_ERROR(directory_->Remove(spare));
  }
  return Status::Ok();
}

void Log::MakeUuid() {
  for (size_t i = 0; i < uuid_.size(); i += 8) {
    Store64(uuid_.data() + i, file_system_.Random64());
  }
  // RFC 9562: version 4, made of random bits, and the variant of that document.
  uuid_[6] = static_cast<uint8_t>((uuid_[6] & 0x0f) | 0x40);
  uuid_[8] = static_cast<uint8_t>((uuid_[8] & 0x3f) | 0x80);
}

Status Log::Recover() {
  DURLOG_ASSIGN_OR_RETURN(LogFiles files, ListLogFiles(*directory_));
  if (files.segments.empty()) {
    DURLOG_RETURN_IF_ERROR(RemoveSpares(files));
    MakeUuid();
    live_.Attach(file_system_, *directory_, capabilities_, uuid_);
    end_marked_ = true;
    return CreateFirstSegment(0);
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
  DURLOG_RETURN_IF_ERROR(RemoveSpares(plan.files));
  if (uuid_ == LogUuid{}) MakeUuid();  // no header could be read
  live_.Attach(file_system_, *directory_, capabilities_, uuid_);
  live_.BeginRecovery(plan.next_seq, !plan.cuts.empty());
  const bool cuts = !plan.cuts.empty();
  DURLOG_RETURN_IF_ERROR(ApplyRecovery(*directory_, capabilities_, &plan));
  // Once more: a reader may have opened a segment that was still to go.
  if (cuts) live_.Cut(plan.next_seq);
  segments_.assign(plan.files.segments.begin(), plan.files.segments.end());
  next_seq_ = plan.next_seq;
  committed_end_ = next_seq_;
  acks_.Reset(next_seq_);
  // Salvage never writes over the evidence: what comes goes behind it, into a new segment, or into
  // the one that an earlier salvage made and nobody has used.
  ScannedSegment& last = plan.scanned.back();
  if (corrupt && !(last.empty() && last.first_seq == next_seq_)) {
    return CreateFirstSegment(next_seq_);
  }
  end_marked_ = plan.synced_end >= next_seq_;
  active_ = std::make_shared<Segment>(last.first_seq, last.header, std::move(last.file));
  ResumeAt(std::move(active_), last.scan.end_offset, last.scan.last_time_ms);
  return Status::Ok();
}

void Log::Attach(Executor* executor, LogListener* listener) {
  executor_ = executor;
  listener_ = listener;
}

Log::~Log() {
  if (commit_) {
    commit_->Await();
    commit_->Release();
  }
  for (const std::shared_ptr<Job>& job : admin_) job->Await();
  if (tail_) tail_.reset();
  if (spare_) RemoveSpare(*directory_, *spare_);
}

}  // namespace durlog
