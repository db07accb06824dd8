#include "log/inspect.h"

#include <algorithm>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "live/live_page_reader.h"
#include "live/live_page_writer.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

constexpr size_t kCopyStepBytes = 1u << 20;

// Damage found while segments were cut or trimmed beside the reading may be none: read again.
constexpr int kVerifyAttempts = 8;

Status CheckHeaders(Directory& directory, const RecoveryPlan& plan, VerifyReport* report) {
  for (const uint64_t first_seq : plan.files.segments) {
    SegmentReport segment;
    segment.name = SegmentName(first_seq);
    segment.first_seq = first_seq;
    Result<OpenedSegment> opened = OpenSegment(directory, first_seq, OpenMode::kRead);
    if (opened.ok()) {
      if (opened->one_header_copy_damaged) {
        segment.header_problem = "one of the header's two copies is damaged";
        report->state = RecoveryState::kCorrupt;
        Problem problem;
        problem.segment = segment.name;
        problem.message = segment.header_problem;
        report->problems.push_back(std::move(problem));
      }
    } else if (opened.status().code() == Code::kCorrupt) {
      segment.header_problem = opened.status().message();
    } else if (opened.status().code() != Code::kNotFound) {  // trimmed since it was listed
      return opened.TakeStatus();
    }
    report->segments.push_back(std::move(segment));
  }
  return Status::Ok();
}

// Not only the damage that decides, but every segment that has some below `written_end`.
void ListDamage(const RecoveryPlan& plan, uint64_t written_end, VerifyReport* report) {
  for (size_t i = 0; i < plan.scanned.size(); ++i) {
    const ScannedSegment& segment = plan.scanned[i];
    const SegmentScan& scan = segment.scan;
    SegmentReport& entry = report->segments[i];
    entry.bytes = segment.file_bytes;
    entry.records = scan.records;
    entry.end_offset = scan.end_offset;
    report->records += scan.records;
    report->payload_bytes += scan.payload_bytes;
    const bool last = i + 1 == plan.scanned.size();
    const bool leads_on = !last && scan.next_seq == plan.scanned[i + 1].first_seq;
    if (leads_on || (last && !scan.damaged)) continue;
    if (segment.unreadable.ok() && scan.next_seq >= written_end) continue;
    Problem problem;
    problem.segment = SegmentName(segment.first_seq);
    problem.offset = scan.end_offset;
    problem.message = !segment.unreadable.ok() ? segment.unreadable.message()
                      : scan.damaged           ? DescribeDecodeStatus(scan.damage)
                                               : "records are missing";
    const uint64_t next_whole = scan.records_after > 0 ? scan.first_after
                                : last                 ? plan.known_synced
                                                       : plan.scanned[i + 1].first_seq;
    if (next_whole > scan.next_seq) {
      problem.lost_first = scan.next_seq;
      problem.lost_last = next_whole - 1;
    }
    report->problems.push_back(std::move(problem));
  }
}

// The bytes [offset, end of file); steps that are all zero are left as holes.
Status CopyEnd(File& from, uint64_t offset, File& to) {
  AlignedBuffer buffer;
  if (!buffer.Reserve(kCopyStepBytes, 0)) {
    return Status::Error(Code::kOutOfMemory, "no memory to copy what is cut");
  }
  for (uint64_t at = offset;;) {
    DURLOG_ASSIGN_OR_RETURN(const size_t read, from.ReadAt(at, buffer.data(), kCopyStepBytes));
    if (read == 0) break;
    const bool zero = IsAllZero(buffer.data(), read);
    if (!zero) DURLOG_RETURN_IF_ERROR(to.WriteAt(at - offset, buffer.data(), read));
    at += read;
  }
  return to.SyncFull();
}

Status BackUp(FileSystem& file_system, Directory& directory, const std::vector<Cut>& cuts,
              const std::string& backup) {
  DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<Directory> target,
                          file_system.OpenDirectory(backup, true));
  for (const Cut& cut : cuts) {
    DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<File> from, directory.Open(cut.name, OpenMode::kRead));
    const std::string name =
        cut.remove ? cut.name : cut.name + ".from-" + std::to_string(cut.offset);
    DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<File> to, target->Open(name, OpenMode::kCreateNew));
    DURLOG_RETURN_IF_ERROR(CopyEnd(*from, cut.offset, *to));
    DURLOG_RETURN_IF_ERROR(to->Close());
  }
  return target->Sync();
}

std::optional<LiveView> LookAt(FileSystem& file_system, const std::string& path) {
  const Result<std::unique_ptr<LivePageReader>> live = LivePageReader::Open(file_system, path);
  return live.ok() ? (*live)->Look() : std::nullopt;
}

// Whether nothing is damaged but what is still being written, from `written_end` on.
bool IsBeingWritten(const RecoveryPlan& plan, uint64_t written_end) {
  const bool readable =
      std::all_of(plan.scanned.begin(), plan.scanned.end(),
                  [](const ScannedSegment& segment) { return segment.unreadable.ok(); });
  const bool corrupt = plan.report.state == RecoveryState::kCorrupt;
  const uint64_t damage_seq = corrupt ? plan.report.lost_first : plan.next_seq;
  return readable && plan.identity.undisputed && damage_seq >= written_end;
}

Result<VerifyReport> VerifyOnce(Directory& directory, const std::optional<LiveView>& live) {
  DURLOG_ASSIGN_OR_RETURN(LogFiles files, ListLogFiles(directory));
  DURLOG_ASSIGN_OR_RETURN(RecoveryPlan plan,
                          PlanRecovery(directory, std::move(files), OpenMode::kRead,
                                       ScanExtent::kEverything, Evidence::kDevice));
  const uint64_t written_end = live ? live->memory_end : UINT64_MAX;
  if (IsBeingWritten(plan, written_end)) {
    plan.report.state = RecoveryState::kClean;
    plan.next_seq = plan.scanned.back().scan.next_seq;
  }
  if (live) plan.known_synced = std::max(plan.known_synced, live->synced_end);
  VerifyReport report;
  DURLOG_RETURN_IF_ERROR(CheckHeaders(directory, plan, &report));
  report.state = std::max(report.state, plan.report.state);
  report.bounds = LogBounds{plan.files.segments.front(), plan.next_seq,
                            std::min(plan.known_synced, plan.next_seq), plan.identity.uuid};
  ListDamage(plan, written_end, &report);
  return report;
}

}  // namespace

Result<LogBounds> ReadBounds(FileSystem& file_system, const std::string& path) {
  if (const std::optional<LiveView> live = LookAt(file_system, path)) {
    return LogBounds{live->first_seq, live->memory_end, live->synced_end, live->uuid};
  }
  DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<Directory> directory,
                          file_system.OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(LogFiles files, ListLogFiles(*directory));
  DURLOG_ASSIGN_OR_RETURN(const RecoveryPlan plan,
                          PlanRecovery(*directory, std::move(files), OpenMode::kRead,
                                       ScanExtent::kUnsyncedEnd, Evidence::kCache));
  return LogBounds{plan.files.segments.front(), plan.next_seq,
                   std::min(plan.known_synced, plan.next_seq), plan.identity.uuid};
}

Result<VerifyReport> Verify(FileSystem& file_system, const std::string& path) {
  DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<Directory> directory,
                          file_system.OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(const std::unique_ptr<LivePageReader> live,
                          LivePageReader::Open(file_system, path));
  std::optional<LiveView> before = live->Look();
  for (int attempt = 1;; ++attempt) {
    Result<VerifyReport> report = VerifyOnce(*directory, before);
    const bool clean = report.ok() && report->state == RecoveryState::kClean;
    const std::optional<LiveView> after = live->Look();
    const bool cut = live->TakeCut() != kNoCut;
    const bool came_or_went = before.has_value() != after.has_value();
    const bool removed = report.status().code() == Code::kNotFound && after;
    const bool trimmed = removed || (before && after && before->first_seq != after->first_seq);
    if (clean || attempt == kVerifyAttempts || !(cut || came_or_went || trimmed)) return report;
    before = after;
  }
}

Result<std::vector<FrameReport>> ListFrames(FileSystem& file_system, const std::string& path,
                                            const std::string& segment, uint64_t offset,
                                            size_t max) {
  DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<Directory> directory,
                          file_system.OpenDirectory(path, false));
  const std::optional<uint64_t> first_seq = ParseSegmentName(segment);
  if (!first_seq) {
    return Status::Error(Code::kInvalidArgument, "\"" + segment + "\" is not a segment's name");
  }
  DURLOG_ASSIGN_OR_RETURN(OpenedSegment opened,
                          OpenSegment(*directory, *first_seq, OpenMode::kRead));
  DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, opened.file->Size());
  const uint64_t end = std::min(file_bytes, opened.header.segment_bytes);
  FrameScanner scanner(*opened.file, ContextOf(opened.header, *first_seq), file_bytes);
  scanner.AcceptAnySeq();
  scanner.Seek(std::max<uint64_t>(offset, kSegmentHeaderBytes), *first_seq);
  std::vector<FrameReport> frames;
  while (frames.size() < max && scanner.position() < end) {
    DURLOG_ASSIGN_OR_RETURN(const ScannedFrame found, scanner.Next());
    FrameReport frame;
    frame.offset = found.offset;
    frame.status = found.status;
    frame.fields = found.fields;
    frame.time_ms = opened.header.base_time_ms + found.fields.time_ms;
    if (found.status == DecodeStatus::kWhole) {
      frame.bytes = found.fields.frame_bytes();
      frames.push_back(frame);
      continue;
    }
    // Up to where frames can be read again, or to the end.
    DURLOG_ASSIGN_OR_RETURN(const std::optional<ScannedFrame> next, scanner.Resync());
    const uint64_t until = next ? next->offset : end;
    frame.bytes = until - found.offset;
    frames.push_back(frame);
    scanner.Seek(until, next ? next->fields.seq : scanner.next_seq());
  }
  return frames;
}

Result<RepairReport> Repair(FileSystem& file_system, const std::string& path, bool apply,
                            const std::string& backup) {
  DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<Directory> directory,
                          file_system.OpenDirectory(path, false));
  std::unique_ptr<FileLock> lock;
  if (apply) {
    DURLOG_ASSIGN_OR_RETURN(lock, directory->Lock(kLockName));
  }
  DURLOG_ASSIGN_OR_RETURN(LogFiles files, ListLogFiles(*directory));
  DURLOG_ASSIGN_OR_RETURN(
      RecoveryPlan plan,
      PlanRecovery(*directory, std::move(files), apply ? OpenMode::kReadWrite : OpenMode::kRead,
                   ScanExtent::kUnsyncedEnd, Evidence::kDevice));
  RepairReport report;
  report.state = plan.report.state;
  report.cuts = plan.cuts;
  if (plan.report.state == RecoveryState::kCorrupt) {
    return CorruptError(*directory, plan.report);
  }
  if (!apply || plan.cuts.empty()) return report;
  DURLOG_RETURN_IF_ERROR(BackUp(file_system, *directory, plan.cuts, backup));
  DURLOG_ASSIGN_OR_RETURN(const Capabilities capabilities, directory->Probe());
  LivePageWriter live;
  live.Attach(file_system, *directory, capabilities, plan.identity.uuid);
  live.Cut(plan.next_seq);
  DURLOG_RETURN_IF_ERROR(ApplyRecovery(*directory, capabilities, &plan));
  live.Cut(plan.next_seq);
  report.applied = true;
  return report;
}

}  // namespace durlog
