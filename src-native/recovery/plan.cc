#include "recovery/plan.h"

#include <algorithm>
#include <utility>

#include "record/segment_name.h"
#include "recovery/drop_cache.h"
#include "segment/open_segment.h"

namespace durlog {
namespace {

// If the frames of a segment cannot be checked, only its name and the largest possible number of
// frames are known.
Result<ScannedSegment> Unreadable(Directory& directory, uint64_t first_seq, Status reason) {
  DURLOG_ASSIGN_OR_RETURN(const auto file, directory.Open(SegmentName(first_seq), OpenMode::kRead));
  ScannedSegment segment;
  segment.first_seq = first_seq;
  segment.unreadable = std::move(reason);
  DURLOG_ASSIGN_OR_RETURN(segment.file_bytes, file->Size());
  segment.scan.damaged = true;
  segment.scan.end_offset = 0;
  segment.scan.next_seq = first_seq;
  const uint64_t most = std::min(segment.file_bytes, kMaxSegmentBytes);
  segment.scan.next_after = first_seq + most / kMinRecordFrameBytes;
  return segment;
}

Result<ScannedSegment> ScanOne(Directory& directory, uint64_t first_seq, OpenMode mode,
                               Evidence evidence, const LogUuid& uuid) {
  Result<OpenedSegment> opened = OpenSegment(directory, first_seq, mode);
  Status status =
      opened.ok() ? CheckIdentity(directory, first_seq, opened->header, uuid) : opened.TakeStatus();
  if (status.code() == Code::kCorrupt) return Unreadable(directory, first_seq, std::move(status));
  if (!status.ok()) return status;
  ScannedSegment segment;
  segment.first_seq = first_seq;
  segment.header = opened->header;
  segment.header_copies_differ = opened->header_copies_differ;
  segment.file = std::move(opened->file);
  if (evidence == Evidence::kDevice) {
    if (mode == OpenMode::kReadWrite) DURLOG_RETURN_IF_ERROR(DiscardDirtyZeros(*segment.file));
    DURLOG_ASSIGN_OR_RETURN(segment.from_device, DropCache(*segment.file));
  }
  DURLOG_ASSIGN_OR_RETURN(segment.file_bytes, segment.file->Size());
  DURLOG_ASSIGN_OR_RETURN(segment.scan,
                          ScanSegment(*segment.file, ContextOf(segment.header, first_seq)));
  return segment;
}

// Newest to oldest. kUnsyncedEnd stops if the data states that all older records are synced.
Status ScanBackwards(Directory& directory, OpenMode mode, ScanExtent extent, Evidence evidence,
                     RecoveryPlan* plan) {
  for (size_t i = plan->files.segments.size(); i-- > 0;) {
    DURLOG_ASSIGN_OR_RETURN(ScannedSegment segment, ScanOne(directory, plan->files.segments[i],
                                                            mode, evidence, plan->identity.uuid));
    const bool older = !plan->scanned.empty() && plan->synced_end >= plan->scanned.back().first_seq;
    if (older) segment.file.reset();
    plan->report.scanned_bytes += segment.scan.bytes_read;
    plan->synced_end = std::max(plan->synced_end, segment.scan.synced_end);
    const uint64_t first_seq = segment.first_seq;
    plan->scanned.push_back(std::move(segment));
    if (extent == ScanExtent::kUnsyncedEnd && plan->synced_end >= first_seq) break;
  }
  std::reverse(plan->scanned.begin(), plan->scanned.end());
  plan->report.scanned_from = plan->scanned.front().first_seq;
  return Status::Ok();
}

// Index of the first scanned segment that cannot be read or does not lead to the next one; size()
// if there is none.
size_t FindDamage(const std::vector<ScannedSegment>& scanned) {
  const auto unreadable =
      std::find_if(scanned.begin(), scanned.end(),
                   [](const ScannedSegment& segment) { return !segment.unreadable.ok(); });
  if (unreadable != scanned.end()) return static_cast<size_t>(unreadable - scanned.begin());
  for (size_t i = 0; i < scanned.size(); ++i) {
    const bool last = i + 1 == scanned.size();
    if (scanned[i].scan.damaged) {
      // After the end of a sealed segment, damage does not matter if the next segment continues the
      // seqs.
      if (last || scanned[i].scan.next_seq != scanned[i + 1].first_seq) return i;
    } else if (!last && scanned[i].scan.next_seq != scanned[i + 1].first_seq) {
      return i;
    }
  }
  return scanned.size();
}

// The whole records after the damage: the first seq, and the number of records.
struct Behind {
  uint64_t first = 0;
  uint64_t records = 0;
};

Behind CountBehind(const std::vector<ScannedSegment>& scanned, size_t damaged) {
  Behind behind{scanned[damaged].scan.first_after, scanned[damaged].scan.records_after};
  for (size_t i = damaged + 1; i < scanned.size(); ++i) {
    const SegmentScan& scan = scanned[i].scan;
    const uint64_t records = scan.records + scan.records_after;
    if (behind.records == 0 && records > 0) {
      behind.first = scan.records > 0 ? scanned[i].first_seq : scan.first_after;
    }
    behind.records += records;
  }
  return behind;
}

void PlanCuts(RecoveryPlan* plan, size_t damaged) {
  // Newest first: a power cut at any point leaves a log without its end, never one with a gap.
  for (size_t i = plan->scanned.size(); i-- > damaged;) {
    const ScannedSegment& segment = plan->scanned[i];
    Cut cut;
    cut.name = SegmentName(segment.first_seq);
    cut.remove = i > damaged;
    cut.offset = cut.remove ? 0 : segment.scan.end_offset;
    cut.bytes = segment.file_bytes - std::min(segment.file_bytes, cut.offset);
    plan->report.discarded_bytes += cut.bytes;
    plan->cuts.push_back(std::move(cut));
  }
}

// True for damage that no crash causes, whatever had been synced. If segments of several logs are
// in the folder, a cut could also change the majority that identifies the log.
bool IsNoCrash(const RecoveryPlan& plan, size_t damaged) {
  const std::vector<ScannedSegment>& scanned = plan.scanned;
  if (!plan.identity.undisputed || !scanned[damaged].unreadable.ok()) return true;
  const bool overlaps = damaged + 1 < scanned.size() &&
                        scanned[damaged].scan.next_seq > scanned[damaged + 1].first_seq;
  return overlaps || std::any_of(scanned.begin(), scanned.end(),
                                 [](const ScannedSegment& s) { return s.scan.misplaced; });
}

std::string Describe(const ScannedSegment& segment) {
  if (!segment.unreadable.ok()) return segment.unreadable.message();
  if (segment.scan.misplaced) return "a whole record of another place";
  return DescribeDecodeStatus(segment.scan.damage);
}

void Classify(RecoveryPlan* plan, size_t damaged) {
  const ScannedSegment& segment = plan->scanned[damaged];
  const uint64_t damage_seq = segment.scan.next_seq;
  const Behind behind = CountBehind(plan->scanned, damaged);
  RecoveryReport& report = plan->report;
  report.segment = SegmentName(segment.first_seq);
  report.offset = segment.scan.end_offset;
  report.detail = Describe(segment);
  if (damage_seq < plan->known_end || IsNoCrash(*plan, damaged)) {
    report.state = RecoveryState::kCorrupt;
    report.lost_first = damage_seq;
    const uint64_t next_whole = behind.records > 0 ? behind.first : plan->known_end;
    report.lost_last = std::max(next_whole, damage_seq + 1) - 1;
    const ScannedSegment& last = plan->scanned.back();
    const uint64_t free_name = last.first_seq + (last.empty() ? 0 : 1);
    plan->next_seq = std::max({plan->known_end, damage_seq, free_name});
    // The loop also visits segments before the damage, because overlapping segments also hold seqs
    // after it.
    for (const ScannedSegment& each : plan->scanned) {
      plan->next_seq = std::max({plan->next_seq, each.scan.next_seq, each.scan.next_after});
    }
    return;
  }
  report.state = behind.records > 0 ? RecoveryState::kHole : RecoveryState::kTornTail;
  report.discarded_records = behind.records;
  plan->next_seq = damage_seq;
}

}  // namespace

Result<Evidence> EvidenceForObserver(Directory& directory) {
  Result<std::unique_ptr<File>> lock = directory.Open(kLockName, OpenMode::kRead);
  if (lock.status().code() == Code::kNotFound) return Evidence::kDevice;
  if (!lock.ok()) return lock.TakeStatus();
  const Result<bool> locked = (*lock)->IsLocked();
  // A system without locks has no log in shared mode: a writer's files are older than its records.
  return locked.ok() && *locked ? Evidence::kCache : Evidence::kDevice;
}

Result<RecoveryPlan> PlanRecovery(Directory& directory, LogFiles files, OpenMode mode,
                                  ScanExtent extent, Evidence evidence, uint64_t acknowledged_end) {
  RecoveryPlan plan;
  plan.files = std::move(files);
  if (plan.files.segments.empty()) {
    return Status::Error(Code::kNotFound, kNoSegment).WithPath(directory.path());
  }
  DURLOG_ASSIGN_OR_RETURN(plan.identity, IdentifyLog(directory, plan.files.segments));
  DURLOG_RETURN_IF_ERROR(ScanBackwards(directory, mode, extent, evidence, &plan));
  plan.known_end = std::max(plan.synced_end, acknowledged_end);
  const size_t damaged = FindDamage(plan.scanned);
  plan.next_seq = plan.scanned.back().scan.next_seq;
  if (damaged == plan.scanned.size()) return plan;
  Classify(&plan, damaged);
  if (plan.report.state != RecoveryState::kCorrupt) {
    PlanCuts(&plan, damaged);
  }
  return plan;
}

}  // namespace durlog
